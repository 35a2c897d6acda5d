// Purpose: what the gates hold against an attempt.
// Parameters: $attemptId, $rows (properties).
MATCH (a:Attempt {id: $attemptId})
UNWIND $rows AS row
MERGE (f:Finding {id: row.id})
SET f += row
MERGE (a)-[:FOUND]->(f)
