// title: What is running now
// description: Attempts that have not ended, with the calls executed, the budget with what was granted, the last call asked for, and who holds the lease until when.
// param repository: id of the repository; orchestrate fills in the current one
// columns: task, attempt, status, toolCalls, budget, lastTool, lastArguments, startedAt, lastEventAt, leaseOwner, leaseExpiresAt, run
// In Neo4j Browser first run   :param {repository: "<id>"}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.status IN ["running", "awaiting_qc"]
OPTIONAL MATCH (run:Run)-[:MADE]->(a)
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
WITH t, a, run, c ORDER BY c.seq
WITH t, a, run, collect(c) AS calls, sum(CASE WHEN c.executed THEN 1 ELSE 0 END) AS executed
OPTIONAL MATCH (a)-[:REQUESTED]->(b:BudgetRequest) WHERE b.granted
WITH t, a, run, calls, executed, sum(coalesce(b.grantedCalls, 0)) AS granted
RETURN t.key AS task, a.number AS attempt, a.status AS status, executed AS toolCalls, a.toolCallBudget + granted AS budget,
       last(calls).tool AS lastTool, last(calls).argumentsJson AS lastArguments,
       a.startedAt AS startedAt, a.lastEventAt AS lastEventAt,
       t.leaseOwner AS leaseOwner, t.leaseExpiresAt AS leaseExpiresAt, run.id AS run
ORDER BY a.startedAt, a.id
