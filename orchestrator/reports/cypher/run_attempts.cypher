// A run's attempts in the order in which they began. $run; columns: attempt, task, number, status, stopReason, toolCalls, tokens, costUsd, durationMs
MATCH (r:Run {id: $run})-[:MADE]->(a:Attempt)<-[:HAS_ATTEMPT]-(t:Task)
RETURN a.id AS attempt, t.key AS task, a.number AS number, a.status AS status, a.stopReason AS stopReason,
       a.toolCallCount AS toolCalls, a.promptTokens + a.completionTokens AS tokens, a.costUsd AS costUsd,
       a.durationMs AS durationMs
ORDER BY a.startedAt, a.id
