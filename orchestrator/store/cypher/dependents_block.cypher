// Purpose: block those locked tasks that wait; $key names the task at the root of it.
// Parameters: $ids, $key. Columns: id (of the blocked ones).
UNWIND $ids AS id
MATCH (d:Task {id: id})
WHERE d.status = 'pending'
SET d.status = 'blocked', d.blockedBy = $key, d.stopReason = 'dependency_failed', d.readyKey = null
RETURN d.id AS id
