// A task's attempts, oldest first. $task; columns: attempt, task, number, status, stopReason, stopDetail, toolCalls, tokens, costUsd, durationMs
MATCH (t:Task {id: $task})-[:HAS_ATTEMPT]->(a:Attempt)
RETURN a.id AS attempt, t.key AS task, a.number AS number, a.status AS status, a.stopReason AS stopReason,
       a.stopDetail AS stopDetail, a.toolCallCount AS toolCalls, a.promptTokens + a.completionTokens AS tokens, a.costUsd AS costUsd,
       a.durationMs AS durationMs
ORDER BY a.startedAt, a.id
