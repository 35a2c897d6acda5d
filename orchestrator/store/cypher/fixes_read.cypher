// Purpose: what was mended in a task, oldest first.
// Parameters: $taskId. Columns: fix (properties).
MATCH (:Task {id: $taskId})-[:FIXED]->(f:Fix)
RETURN properties(f) AS fix ORDER BY f.attempt, f.id
