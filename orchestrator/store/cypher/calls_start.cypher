// Purpose: calls about to be executed, refused or served.
// Parameters: $rows ({id, startedAt (ISO), duplicateOf (seq or null)}).
UNWIND $rows AS row
MATCH (c:ToolCall {id: row.id})
SET c.status = 'running', c.startedAt = datetime(row.startedAt), c.duplicateOf = row.duplicateOf
