// Purpose: whether a plan has tasks that are not completed.
// Parameters: $planId. Columns: unfinished (number).
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
WHERE t.status <> 'completed'
RETURN count(t) AS unfinished
