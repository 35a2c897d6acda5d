// Purpose: an attempt's requests for more calls or a wider scope, decided.
// Parameters: $attemptId, $rows (properties; at is an ISO string).
MATCH (a:Attempt {id: $attemptId})
UNWIND $rows AS row
MERGE (b:BudgetRequest {id: row.id})
SET b += row, b.at = datetime(row.at)
MERGE (a)-[:REQUESTED]->(b)
