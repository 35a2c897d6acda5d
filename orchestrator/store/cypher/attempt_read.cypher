// Purpose: an attempt, with what was decided about it, and how often QC was asked.
// Parameters: $attemptId. Columns: attempt (properties), decision (properties, or null), reviews.
MATCH (a:Attempt {id: $attemptId})
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review)
WITH a, count(v) AS reviews
OPTIONAL MATCH (a)-[:CONCLUDED]->(d:Decision)
RETURN properties(a) AS attempt, properties(d) AS decision, reviews
