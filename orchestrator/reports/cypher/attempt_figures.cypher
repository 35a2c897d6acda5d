// What attempts have come to, in the order in which they began. Calls are the executed ones, turns those of its own that had a reply, and the time is that of the work, both so far where one is open. Tokens and dollars are of its turns, its reviews' and the PM's decisions'; what turns without a reply have reserved stands apart. Cached tokens and those written to the cache are of the prompts', reasoning tokens of the replies'; an older release recorded not all of them. $ids; columns: attempt, task, number, status, stopReason, stopDetail, outcome (null: it has not ended, or an older release recorded none), qcScore (null: QC gave none), turns, toolCalls, tokens, cachedTokens, cacheWriteTokens, reasoningTokens, reservedTokens, costUsd (null: a price is unknown), reservedUsd, durationMs
UNWIND $ids AS id
MATCH (t:Task)-[:HAS_ATTEMPT]->(a:Attempt {id: id})
OPTIONAL MATCH (a)-[:TOOK]->(made:Turn)
WITH t, a, sum(CASE WHEN made.status = 'replied' THEN 1 ELSE 0 END) AS turns
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
WITH t, a, turns, sum(CASE WHEN c.executed THEN 1 ELSE 0 END) AS executed
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review)
WITH t, a, turns, executed, collect(v) AS reviews
OPTIONAL MATCH (r:PlanningRound) WHERE r.id STARTS WITH a.id + ':'
WITH t, a, turns, executed, reviews, collect(r) AS rounds
UNWIND reviews + rounds + [a] AS owner
OPTIONAL MATCH (owner)-[:TOOK]->(u:Turn)
WITH t, a, turns, executed, u, coalesce(u.status, '') = 'requested' AS open
WITH t, a, turns, executed,
     sum(CASE WHEN open THEN 0 ELSE coalesce(u.promptTokens, 0) + coalesce(u.completionTokens, 0) END) AS tokens,
     sum(coalesce(u.cachedTokens, 0)) AS cachedTokens, sum(coalesce(u.cacheWriteTokens, 0)) AS cacheWriteTokens,
     sum(coalesce(u.reasoningTokens, 0)) AS reasoningTokens,
     sum(CASE WHEN open THEN coalesce(u.reservedTokens, 0) ELSE 0 END) AS reservedTokens,
     sum(CASE WHEN open THEN 0.0 ELSE coalesce(u.costUsd, 0.0) END) AS usd,
     sum(CASE WHEN open THEN coalesce(u.reservedUsd, 0.0) ELSE 0.0 END) AS reservedUsd,
     sum(CASE WHEN u IS NOT NULL AND (CASE WHEN open THEN u.reservedUsd ELSE u.costUsd END) IS NULL THEN 1 ELSE 0 END) AS unknown
RETURN a.id AS attempt, t.key AS task, a.number AS number, a.status AS status, a.stopReason AS stopReason,
       a.stopDetail AS stopDetail, a.outcome AS outcome, a.qcScore AS qcScore, turns,
       coalesce(a.toolCallCount, executed) AS toolCalls, tokens, cachedTokens, cacheWriteTokens,
       reasoningTokens, reservedTokens,
       CASE WHEN unknown = 0 THEN usd ELSE null END AS costUsd, reservedUsd,
       coalesce(a.durationMs, toFloat(a.lastEventAt.epochMillis - a.startedAt.epochMillis)) AS durationMs
ORDER BY a.startedAt, a.id
