// Purpose: an attempt, with what was decided about it.
// Parameters: $attemptId. Columns: attempt (properties), decision (properties, or null).
MATCH (a:Attempt {id: $attemptId})
OPTIONAL MATCH (a)-[:CONCLUDED]->(d:Decision)
RETURN properties(a) AS attempt, properties(d) AS decision
