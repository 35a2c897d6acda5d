// Purpose: the decision about an attempt.
// Parameters: $attemptId, $decision (properties; at is an ISO string).
MATCH (a:Attempt {id: $attemptId})
MERGE (d:Decision {id: $decision.id})
SET d += $decision, d.at = datetime($decision.at)
MERGE (a)-[:CONCLUDED]->(d)
