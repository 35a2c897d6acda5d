// Purpose: calls with their results and the files that they changed.
// Parameters: $repository, $rows ({id, call (properties; finishedAt is an ISO string),
//   writes [{file, path, name, write (properties of the relationship)}]}).
UNWIND $rows AS row
MATCH (c:ToolCall {id: row.id})
SET c += row.call, c.finishedAt = datetime(row.call.finishedAt)
FOREACH (change IN row.writes |
  MERGE (f:File {id: change.file})
  ON CREATE SET f.path = change.path, f.name = change.name, f.repository = $repository
  MERGE (c)-[w:WROTE]->(f)
  SET w += change.write
)
