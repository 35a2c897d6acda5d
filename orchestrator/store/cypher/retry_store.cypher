// Purpose: record that a person has a locked task tried again, and make it pending with what was added.
// Parameters: $taskId, $retry (properties; at is an ISO string), $changes (properties of the task), $anew (whether what
// ended until now counts no more).
MATCH (t:Task {id: $taskId})
SET t.retriedAfter = CASE WHEN $anew THEN coalesce(t.attemptNumber, 0) ELSE t.retriedAfter END,
    t.status = 'pending', t.stopReason = null, t.blockedBy = null
SET t += $changes
MERGE (n:Retry {id: $retry.id})
SET n += $retry, n.at = datetime($retry.at), n.afterAttempt = coalesce(t.attemptNumber, 0)
MERGE (t)-[:RETRIED]->(n)
