// Purpose: what the gates found.
// Parameters: $attemptId. Columns: finding (properties).
MATCH (:Attempt {id: $attemptId})-[:FOUND]->(f:Finding)
RETURN properties(f) AS finding ORDER BY f.position
