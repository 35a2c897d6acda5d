// Purpose: compare-and-set a task from ready to running: the lock is written first, then looked.
// Parameters: $taskId, $owner, $token, $until (ISO). Columns: task (properties; no row: somebody else has it).
MATCH (t:Task {id: $taskId})
SET t.lock = $token
WITH t WHERE t.status = 'pending' AND t.readyKey IS NOT NULL
SET t.status = 'running', t.readyKey = null, t.fence = coalesce(t.fence, 0) + 1,
    t.attemptNumber = coalesce(t.attemptNumber, 0) + 1, t.leaseOwner = $owner,
    t.leaseExpiresAt = datetime($until), t.stopReason = null
RETURN properties(t) AS task
