// Purpose: attach checks to an attempt.
// Parameters: $attemptId, $rows (properties; startedAt is an ISO string).
MATCH (a:Attempt {id: $attemptId})
UNWIND $rows AS row
MERGE (c:Check {id: row.id})
SET c += row, c.startedAt = datetime(row.startedAt)
MERGE (a)-[:CHECKED_BY]->(c)
