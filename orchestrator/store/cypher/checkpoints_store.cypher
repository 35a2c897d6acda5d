// Purpose: an attempt's progress reports.
// Parameters: $attemptId, $rows (properties; at is an ISO string).
MATCH (a:Attempt {id: $attemptId})
UNWIND $rows AS row
MERGE (c:Checkpoint {id: row.id})
SET c += row, c.at = datetime(row.at)
MERGE (a)-[:REPORTED]->(c)
