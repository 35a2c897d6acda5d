// Purpose: what an attempt's review raised.
// Parameters: $attemptId. Columns: finding (properties).
MATCH (:Attempt {id: $attemptId})-[:REVIEWED_BY]->(:Review)-[:RAISED]->(f:Finding)
RETURN properties(f) AS finding ORDER BY f.position
