// A plan's planning rounds in order. $plan; columns: id, number, turns, calls (executed), tokens, cachedTokens, cacheWriteTokens, reasoningTokens, costUsd, durationMs, defects
MATCH (:Plan {id: $plan})-[:PLANNED_IN]->(r:PlanningRound)
OPTIONAL MATCH (r)-[:TOOK]->(u:Turn)
OPTIONAL MATCH (u)-[:CALLED]->(c:ToolCall) WHERE c.executed
WITH r, count(DISTINCT u) AS turns, count(DISTINCT c) AS calls
RETURN r.id AS id, r.number AS number, turns, calls, r.promptTokens + r.completionTokens AS tokens,
       coalesce(r.cachedTokens, 0) AS cachedTokens, coalesce(r.cacheWriteTokens, 0) AS cacheWriteTokens,
       coalesce(r.reasoningTokens, 0) AS reasoningTokens, r.costUsd AS costUsd,
       r.durationMs AS durationMs, r.defects AS defects
ORDER BY r.number
