// Purpose: calls with their results.
// Parameters: $rows ({id, call (properties; finishedAt is an ISO string)}).
UNWIND $rows AS row
MATCH (c:ToolCall {id: row.id})
SET c += row.call, c.finishedAt = datetime(row.call.finishedAt)
