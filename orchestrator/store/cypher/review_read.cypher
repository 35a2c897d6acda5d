// Purpose: an attempt's newest review that came to a verdict, else its newest.
// Parameters: $attemptId. Columns: review (properties).
MATCH (:Attempt {id: $attemptId})-[:REVIEWED_BY]->(v:Review)
RETURN properties(v) AS review ORDER BY CASE WHEN v.passed IS NULL THEN 1 ELSE 0 END, v.at DESC, v.id DESC LIMIT 1
