// Purpose: release those locked tasks that are blocked and of whose dependencies none bars them any more.
// Parameters: $ids, $barring (statuses). Columns: id (of the released ones).
UNWIND $ids AS id
MATCH (d:Task {id: id})
WHERE d.status = 'blocked' AND NOT EXISTS { (d)-[:DEPENDS_ON]->(on:Task) WHERE on.status IN $barring }
SET d.status = 'pending', d.blockedBy = null, d.stopReason = null
RETURN d.id AS id
