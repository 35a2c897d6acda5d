// Purpose: the failures that an attempt's checks showed.
// Parameters: $attemptId. Columns: check (its id), failure (properties), count, flaky (an older release told none).
MATCH (:Attempt {id: $attemptId})-[:CHECKED_BY]->(c:Check)-[s:SHOWED]->(f:Failure)
RETURN c.id AS check, properties(f) AS failure, s.count AS count, coalesce(s.flaky, false) AS flaky
ORDER BY c.id, s.position
