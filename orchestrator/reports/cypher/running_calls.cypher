// What the open attempts of a plan are doing. $plan; columns: task, attempt, calls (executed), budget, tool, arguments
MATCH (:Plan {id: $plan})-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.status IN ["running", "awaiting_qc"]
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
WITH t, a, c ORDER BY c.seq
WITH t, a, collect(c) AS calls, sum(CASE WHEN c.executed THEN 1 ELSE 0 END) AS executed
RETURN t.key AS task, a.id AS attempt, executed AS calls, a.toolCallBudget AS budget,
       last(calls).tool AS tool, last(calls).argumentsJson AS arguments
ORDER BY task
