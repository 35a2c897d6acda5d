// A plan's planning rounds in order. $plan; columns: number, turns, calls (executed), tokens, costUsd, durationMs, defects
MATCH (:Plan {id: $plan})-[:PLANNED_IN]->(r:PlanningRound)
OPTIONAL MATCH (r)-[:TOOK]->(u:Turn)
OPTIONAL MATCH (u)-[:CALLED]->(c:ToolCall) WHERE c.executed
WITH r, count(DISTINCT u) AS turns, count(DISTINCT c) AS calls
RETURN r.number AS number, turns, calls, r.promptTokens + r.completionTokens AS tokens, r.costUsd AS costUsd,
       r.durationMs AS durationMs, r.defects AS defects
ORDER BY r.number
