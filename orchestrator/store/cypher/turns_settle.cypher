// Purpose: settle turns with their replies, and create the calls that they ask for.
// Parameters: $rows ({id, turn (properties; at is an ISO string), calls [properties; startedAt, where it starts at once, is an ISO string]}).
UNWIND $rows AS row
MATCH (t:Turn {id: row.id})
SET t += row.turn, t.at = datetime(row.turn.at)
WITH t, row
UNWIND row.calls AS call
MERGE (c:ToolCall {id: call.id})
SET c += call, c.startedAt = datetime(call.startedAt)
MERGE (t)-[:CALLED]->(c)
