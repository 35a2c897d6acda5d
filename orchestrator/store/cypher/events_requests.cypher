// Purpose: an attempt's requests for more.
// Parameters: $attemptId. Columns: request (properties).
MATCH (:Attempt {id: $attemptId})-[:REQUESTED]->(b:BudgetRequest)
RETURN properties(b) AS request ORDER BY b.seq
