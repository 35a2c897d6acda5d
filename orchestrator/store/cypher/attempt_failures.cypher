// Purpose: the failures that an attempt's checks showed.
// Parameters: $attemptId. Columns: check (its id), failure (properties), count.
MATCH (:Attempt {id: $attemptId})-[:CHECKED_BY]->(c:Check)-[s:SHOWED]->(f:Failure)
RETURN c.id AS check, properties(f) AS failure, s.count AS count ORDER BY c.id, s.position
