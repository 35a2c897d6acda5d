// Purpose: close the calls of an ending attempt, its reviews' too, that have no result: those that were asked for behind
// what ended the conversation were never executed.
// Parameters: $attemptId.
MATCH (a:Attempt {id: $attemptId})
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review)
WITH a, collect(v) AS reviews
UNWIND reviews + [a] AS owner
MATCH (owner)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
WHERE c.status IN ['requested', 'running']
SET c.status = CASE c.status WHEN 'requested' THEN 'refused' ELSE 'interrupted' END
