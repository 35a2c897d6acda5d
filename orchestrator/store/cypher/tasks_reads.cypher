// Purpose: link tasks to the files that they are planned to read.
// Parameters: $rows ({id, file, path, name}), $repository.
UNWIND $rows AS row
MATCH (t:Task {id: row.id})
MERGE (f:File {id: row.file})
SET f.path = row.path, f.name = row.name, f.repository = $repository
MERGE (t)-[:READS]->(f)
