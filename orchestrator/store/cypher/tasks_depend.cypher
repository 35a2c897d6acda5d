// Purpose: write dependencies.
// Parameters: $rows ({id, on}).
UNWIND $rows AS row
MATCH (t:Task {id: row.id})
MATCH (d:Task {id: row.on})
MERGE (t)-[:DEPENDS_ON]->(d)
