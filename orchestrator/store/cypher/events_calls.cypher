// Purpose: an attempt's calls in order.
// Parameters: $attemptId. Columns: call (properties).
MATCH (:Attempt {id: $attemptId})-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
RETURN properties(c) AS call ORDER BY c.seq
