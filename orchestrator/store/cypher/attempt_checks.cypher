// Purpose: an attempt's checks.
// Parameters: $attemptId. Columns: check (properties).
MATCH (:Attempt {id: $attemptId})-[:CHECKED_BY]->(c:Check)
RETURN properties(c) AS check ORDER BY c.startedAt, c.id
