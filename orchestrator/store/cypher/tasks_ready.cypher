// Purpose: mark every pending task of a plan whose dependencies are completed as ready.
// Parameters: $planId.
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
WHERE t.status = 'pending' AND NOT EXISTS { (t)-[:DEPENDS_ON]->(d:Task) WHERE d.status <> 'completed' }
SET t.readyKey = t.orderKey
