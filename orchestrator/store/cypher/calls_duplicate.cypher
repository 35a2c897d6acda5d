// Purpose: link calls to the earlier ones that answer them.
// Parameters: $rows ({id, of}).
UNWIND $rows AS row
MATCH (c:ToolCall {id: row.id})
MATCH (d:ToolCall {id: row.of})
MERGE (c)-[:DUPLICATE_OF]->(d)
