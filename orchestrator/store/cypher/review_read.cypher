// Purpose: an attempt's review.
// Parameters: $attemptId. Columns: review (properties).
MATCH (:Attempt {id: $attemptId})-[:REVIEWED_BY]->(v:Review)
RETURN properties(v) AS review ORDER BY v.at DESC LIMIT 1
