// title: Most expensive tasks
// description: Tasks by dollars, then tokens, over all their attempts, reviews and decisions; costUsd is null where a price is unknown, reservedTokens is what requests without a reply may still use.
// param repository: id of the repository; orchestrate fills in the current one
// param limit = 10: rows at most
// columns: task, title, status, attempts, toolCalls, tokens, costUsd, durationMs, plan, reservedTokens
// In Neo4j Browser first run   :param {repository: "<id>", limit: 10}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(p:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall) WHERE c.executed
WITH p, t, a, count(c) AS executed
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review)
WITH p, t, a, executed, collect(v) AS reviews
OPTIONAL MATCH (r:PlanningRound) WHERE r.id STARTS WITH a.id + ":"
WITH p, t, a, executed, reviews, collect(r) AS rounds
UNWIND reviews + rounds + [a] AS owner
OPTIONAL MATCH (owner)-[:TOOK]->(u:Turn)
WITH p, t, a, executed, u, coalesce(u.status, "") = "requested" AS open
WITH p, t, a, executed,
     sum(CASE WHEN open THEN 0 ELSE coalesce(u.promptTokens, 0) + coalesce(u.completionTokens, 0) END) AS used,
     sum(CASE WHEN open THEN coalesce(u.reservedTokens, 0) ELSE 0 END) AS reserved,
     sum(CASE WHEN open THEN 0.0 ELSE coalesce(u.costUsd, 0.0) END) AS cost,
     sum(CASE WHEN u IS NOT NULL AND (CASE WHEN open THEN u.reservedUsd ELSE u.costUsd END) IS NULL THEN 1 ELSE 0 END) AS unknown
WITH p, t, count(a) AS attempts, sum(coalesce(a.toolCallCount, executed)) AS toolCalls, sum(used) AS tokens,
     sum(reserved) AS reservedTokens,
     CASE WHEN sum(unknown) = 0 THEN round(1000000.0 * sum(cost)) / 1000000.0 ELSE null END AS costUsd,
     toFloat(round(sum(coalesce(a.durationMs, toFloat(a.lastEventAt.epochMillis - a.startedAt.epochMillis), 0.0)))) AS durationMs
RETURN t.key AS task, t.title AS title, t.status AS status, attempts, toolCalls, tokens, costUsd, durationMs, p.id AS plan,
       reservedTokens
ORDER BY coalesce(costUsd, 0.0) DESC, tokens DESC, toolCalls DESC, plan, task
LIMIT toInteger($limit)
