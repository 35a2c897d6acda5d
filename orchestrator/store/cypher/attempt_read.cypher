// Purpose: an attempt, with what was decided about it, and how often QC was asked.
// Parameters: $attemptId. Columns: attempt (properties), decision (properties, or null; an older release told no phase), merge (the decision
// over its merge alone), reviews.
MATCH (a:Attempt {id: $attemptId})
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review)
WITH a, count(v) AS reviews
OPTIONAL MATCH (a)-[:CONCLUDED]->(d:Decision) WHERE coalesce(d.phase, "verification") <> "merge"
OPTIONAL MATCH (a)-[:CONCLUDED]->(m:Decision {phase: "merge"})
RETURN properties(a) AS attempt, properties(d) AS decision, properties(m) AS merge, reviews
