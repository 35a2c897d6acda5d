// Purpose: whether a plan has tasks that are not completed (those superseded by their subtasks do not count).
// Parameters: $planId. Columns: unfinished (number).
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
WHERE NOT t.status IN ['completed', 'split']
RETURN count(t) AS unfinished
