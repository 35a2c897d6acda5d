// Purpose: the tasks that a plan has already, and which were attempted: those must not be dropped.
// Parameters: $planId. Columns: id, attempted.
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
RETURN t.id AS id, coalesce(t.attemptNumber, 0) > 0 AS attempted
