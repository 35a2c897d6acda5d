// Purpose: guards' verdicts, each linked to the call that it is about, if there is one.
// Parameters: $ownerId, $rows ({guard (properties; at is an ISO string), id, call (id or null)}).
OPTIONAL MATCH (a:Attempt {id: $ownerId})
OPTIONAL MATCH (v:Review {id: $ownerId})
OPTIONAL MATCH (r:PlanningRound {id: $ownerId})
WITH coalesce(a, v, r) AS owner
UNWIND $rows AS row
MERGE (g:GuardEvent {id: row.id})
SET g += row.guard, g.at = datetime(row.guard.at)
MERGE (owner)-[:TRIGGERED]->(g)
WITH g, row
MATCH (c:ToolCall {id: row.call})
MERGE (g)-[:AT]->(c)
