// Purpose: the files that calls changed.
// Parameters: $repository, $rows ({id, file, path, name, write (properties of the relationship)}).
UNWIND $rows AS row
MATCH (c:ToolCall {id: row.id})
MERGE (f:File {id: row.file})
ON CREATE SET f.path = row.path, f.name = row.name, f.repository = $repository
MERGE (c)-[w:WROTE]->(f)
SET w += row.write
