// title: Most expensive tasks
// description: Tasks by dollars, then tokens, over all their attempts; costUsd is null where no price is known.
// param repository: id of the repository; orchestrate fills in the current one
// param limit = 10: rows at most
// columns: task, title, status, attempts, toolCalls, tokens, costUsd, durationMs, plan
// In Neo4j Browser first run   :param {repository: "<id>", limit: 10}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(p:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WITH p, t, count(a) AS attempts, sum(a.toolCallCount) AS toolCalls, sum(a.promptTokens + a.completionTokens) AS tokens,
     CASE WHEN count(a.costUsd) > 0 THEN toFloat(sum(a.costUsd)) ELSE null END AS costUsd, toFloat(sum(a.durationMs)) AS durationMs
RETURN t.key AS task, t.title AS title, t.status AS status, attempts, toolCalls, tokens, costUsd, durationMs, p.id AS plan
ORDER BY coalesce(costUsd, 0.0) DESC, tokens DESC, toolCalls DESC, plan, task
LIMIT toInteger($limit)
