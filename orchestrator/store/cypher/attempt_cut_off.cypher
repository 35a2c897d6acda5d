// Purpose: close a locked attempt whose owner is gone or that was cancelled, with what its turns and calls came to; a
// turn without a reply counts with what it reserved, a call that had begun as executed. The task tells why, too.
// Parameters: $attemptId, $status, $fence (the new one), $at (ISO), $durationMs, $told (properties: why it ended).
MATCH (a:Attempt {id: $attemptId})
OPTIONAL MATCH (a)-[:TOOK]->(t:Turn)
WITH a, t, t.status = 'requested' AS open
WITH a, count(t) AS turns,
     sum(CASE WHEN open THEN t.reservedTokens ELSE t.promptTokens END) AS promptTokens,
     sum(coalesce(t.cachedTokens, 0)) AS cachedTokens,
     sum(coalesce(t.cacheWriteTokens, 0)) AS cacheWriteTokens,
     sum(coalesce(t.reasoningTokens, 0)) AS reasoningTokens,
     sum(CASE WHEN open THEN 0 ELSE t.completionTokens END) AS completionTokens,
     sum(coalesce(CASE WHEN open THEN t.reservedUsd ELSE t.costUsd END, 0.0)) AS usd,
     sum(CASE WHEN t IS NOT NULL AND (CASE WHEN open THEN t.reservedUsd ELSE t.costUsd END) IS NULL THEN 1 ELSE 0 END) AS unknown
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
WHERE c.executed
WITH a, turns, promptTokens, cachedTokens, cacheWriteTokens, completionTokens, reasoningTokens, usd, unknown,
     count(c) AS calls
SET a += $told, a.status = $status, a.fence = $fence,
    a.finishedAt = datetime($at), a.durationMs = $durationMs, a.turnCount = turns, a.toolCallCount = calls,
    a.promptTokens = promptTokens, a.cachedTokens = cachedTokens, a.cacheWriteTokens = cacheWriteTokens,
    a.completionTokens = completionTokens, a.reasoningTokens = reasoningTokens,
    a.costUsd = CASE WHEN unknown = 0 THEN usd ELSE null END
WITH a
MATCH (t:Task {id: a.taskId})
SET t.errorContextJson = $told.errorContextJson
