// title: Estimate against actual calls
// description: What pre-flight expected of each task that was tried, and the tool calls of its costliest attempt.
// param repository: id of the repository; orchestrate fills in the current one
// param limit = 100: rows at most
// columns: task, band, score, estimatedToolCalls, budget, actualToolCalls, attempts, ratio, status, plan
// In Neo4j Browser first run   :param {repository: "<id>", limit: 100}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(p:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall) WHERE c.executed
WITH p, t, a, count(c) AS executed
WITH p, t, count(a) AS attempts, max(coalesce(a.toolCallCount, executed)) AS actual
RETURN t.key AS task, t.complexityBand AS band, t.complexityScore AS score,
       t.estimatedToolCalls AS estimatedToolCalls, t.toolCallBudget AS budget,
       actual AS actualToolCalls, attempts,
       CASE WHEN t.estimatedToolCalls > 0 THEN round(100.0 * actual / t.estimatedToolCalls) / 100.0 ELSE null END AS ratio,
       t.status AS status, p.id AS plan
ORDER BY p.createdAt DESC, plan, task
LIMIT toInteger($limit)
