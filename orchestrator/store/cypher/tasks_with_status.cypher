// Purpose: a plan's tasks with one of the given statuses.
// Parameters: $planId, $statuses. Columns: id, key.
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
WHERE t.status IN $statuses
RETURN t.id AS id, t.key AS key ORDER BY t.orderKey
