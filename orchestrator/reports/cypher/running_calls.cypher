// What the open attempts of a plan are doing. $plan; columns: task, attempt, calls (executed), budget (with what was granted), tool, arguments
MATCH (:Plan {id: $plan})-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.status IN ["running", "awaiting_qc"]
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
WITH t, a, c ORDER BY c.seq
WITH t, a, collect(c) AS calls, sum(CASE WHEN c.executed THEN 1 ELSE 0 END) AS executed
OPTIONAL MATCH (a)-[:REQUESTED]->(b:BudgetRequest) WHERE b.granted
WITH t, a, calls, executed, sum(coalesce(b.grantedCalls, 0)) AS granted
RETURN t.key AS task, a.id AS attempt, executed AS calls, a.toolCallBudget + granted AS budget,
       last(calls).tool AS tool, last(calls).argumentsJson AS arguments
ORDER BY task
