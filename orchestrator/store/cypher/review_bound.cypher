// Purpose: the newest verdict over a task that is bound to the same content.
// Parameters: $taskId, $contentHash, $after (attempts up to this number do not count). Columns: review (properties).
MATCH (:Task {id: $taskId})-[:HAS_ATTEMPT]->(a:Attempt)-[:REVIEWED_BY]->(v:Review)
WHERE a.number > $after AND v.contentHash = $contentHash AND v.passed IS NOT NULL
RETURN properties(v) AS review ORDER BY v.at DESC, v.id DESC LIMIT 1
