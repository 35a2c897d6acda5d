// Purpose: mark an attempt's unfinished calls, its review's too, as interrupted. Those that had begun stay
// executed.
// Parameters: $attemptId.
MATCH (a:Attempt {id: $attemptId})
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review)
WITH a, collect(v) AS reviews
UNWIND reviews + [a] AS owner
MATCH (owner)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
WHERE c.status IN ['requested', 'running']
SET c.status = 'interrupted'
