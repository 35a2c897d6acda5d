// Purpose: the task with a key in a plan.
// Parameters: $planId, $key. Columns: id.
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task {key: $key})
RETURN t.id AS id
