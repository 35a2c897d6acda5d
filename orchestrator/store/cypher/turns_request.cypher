// Purpose: turns about to be made, by an attempt, a review or a planning round.
// Parameters: $ownerId, $rows (properties; startedAt is an ISO string).
OPTIONAL MATCH (a:Attempt {id: $ownerId})
OPTIONAL MATCH (v:Review {id: $ownerId})
OPTIONAL MATCH (r:PlanningRound {id: $ownerId})
WITH coalesce(a, v, r) AS owner
UNWIND $rows AS row
MERGE (t:Turn {id: row.id})
SET t += row, t.startedAt = datetime(row.startedAt)
MERGE (owner)-[:TOOK]->(t)
