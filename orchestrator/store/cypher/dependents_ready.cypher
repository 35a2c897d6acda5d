// Purpose: mark those locked tasks as ready whose dependencies are all completed now.
// Parameters: $ids.
UNWIND $ids AS id
MATCH (d:Task {id: id})
WHERE d.status = 'pending' AND NOT EXISTS { (d)-[:DEPENDS_ON]->(on:Task) WHERE on.status <> 'completed' }
SET d.readyKey = d.orderKey
