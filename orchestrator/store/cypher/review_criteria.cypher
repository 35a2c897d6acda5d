// Purpose: what an attempt's review judged.
// Parameters: $attemptId. Columns: criterion (properties).
MATCH (:Attempt {id: $attemptId})-[:REVIEWED_BY]->(:Review)-[:JUDGED]->(c:Criterion)
RETURN properties(c) AS criterion ORDER BY c.position
