// Purpose: what an attempt has mended, on its task.
// Parameters: $taskId, $rows (properties).
MATCH (t:Task {id: $taskId})
UNWIND $rows AS row
MERGE (f:Fix {id: row.id})
SET f += row
MERGE (t)-[:FIXED]->(f)
