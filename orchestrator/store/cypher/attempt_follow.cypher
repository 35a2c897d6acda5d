// Purpose: say which attempt a locked attempt follows, instead of what the claim said.
// Parameters: $attemptId, $follows.
MATCH (a:Attempt {id: $attemptId})
MATCH (b:Attempt {id: $follows})
OPTIONAL MATCH (a)-[old:FOLLOWS]->()
DELETE old
MERGE (a)-[:FOLLOWS]->(b)
SET a.follows = $follows
