// title: Most expensive tasks
// description: Tasks by dollars, then tokens, over all their attempts and reviews; costUsd is null where no price is known.
// param repository: id of the repository; orchestrate fills in the current one
// param limit = 10: rows at most
// columns: task, title, status, attempts, toolCalls, tokens, costUsd, durationMs, plan
// In Neo4j Browser first run   :param {repository: "<id>", limit: 10}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(p:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
OPTIONAL MATCH (a)-[:TOOK|REVIEWED_BY*1..2]->(u:Turn)
WITH p, t, a, count(u) AS turns, count(coalesce(u.costUsd, u.reservedUsd)) AS priced,
     sum(coalesce(u.costUsd, u.reservedUsd)) AS cost,
     sum(coalesce(u.promptTokens, 0) + coalesce(u.completionTokens, 0)) AS used
WITH p, t, count(a) AS attempts, sum(a.toolCallCount) AS toolCalls, sum(used) AS tokens,
     CASE WHEN sum(priced) = sum(turns) THEN round(1000000.0 * sum(cost)) / 1000000.0 ELSE null END AS costUsd,
     toFloat(round(sum(a.durationMs))) AS durationMs
RETURN t.key AS task, t.title AS title, t.status AS status, attempts, toolCalls, tokens, costUsd, durationMs, p.id AS plan
ORDER BY coalesce(costUsd, 0.0) DESC, tokens DESC, toolCalls DESC, plan, task
LIMIT toInteger($limit)
