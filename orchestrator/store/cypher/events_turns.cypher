// Purpose: an attempt's turns in order.
// Parameters: $attemptId. Columns: turn (properties).
MATCH (:Attempt {id: $attemptId})-[:TOOK]->(t:Turn)
RETURN properties(t) AS turn ORDER BY t.seq
