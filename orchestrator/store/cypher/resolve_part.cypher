// Purpose: whether there is an attempt, or a tool call, with an id.
// Parameters: $id, $label (Attempt or ToolCall). Columns: id.
MATCH (a:Attempt {id: $id})
WHERE $label = 'Attempt'
RETURN a.id AS id
UNION
MATCH (c:ToolCall {id: $id})
WHERE $label = 'ToolCall'
RETURN c.id AS id
