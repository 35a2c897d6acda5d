// Purpose: whether a task of a plan is worked on or may be claimed now. Whoever waits asks this again and again, so one
// small row is read and not the plan.
// Parameters: $planId, $keys (null: all tasks), $live (statuses of a task that somebody works on). Columns: id (one row,
// or none).
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
WHERE ($keys IS NULL OR t.key IN $keys)
  AND (t.status IN $live
       OR (t.status = 'pending' AND NOT EXISTS { (t)-[:DEPENDS_ON]->(d:Task) WHERE d.status <> 'completed' }))
RETURN t.id AS id LIMIT 1
