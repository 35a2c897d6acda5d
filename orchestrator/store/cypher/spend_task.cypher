// Purpose: what a task's attempts (in one run or in any, or one of them) have cost, with their reviews and the PM's
// decisions about their requests; an unsettled turn counts with what it reserved. It begins at the task, because a run
// has many attempts.
// Parameters: $taskId, $runId and $attemptId (null: any). Columns: promptTokens, completionTokens, of these
// cachedTokens, cacheWriteTokens and reasoningTokens (absent in a graph that an older release wrote, then 0), usd,
// unknown (turns without price), and reservedTokens and reservedUsd, which are in them.
MATCH (:Task {id: $taskId})-[:HAS_ATTEMPT]->(a:Attempt)
WHERE ($runId IS NULL OR a.runId = $runId) AND ($attemptId IS NULL OR a.id = $attemptId)
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review)
WITH a, collect(v) AS reviews
OPTIONAL MATCH (r:PlanningRound) WHERE r.id STARTS WITH a.id + ':'
WITH a, reviews, collect(r) AS rounds
UNWIND reviews + rounds + [a] AS owner
MATCH (owner)-[:TOOK]->(t:Turn)
WITH t, t.status = 'requested' AS open
RETURN sum(CASE WHEN open THEN t.reservedTokens ELSE t.promptTokens END) AS promptTokens,
       sum(CASE WHEN open THEN 0 ELSE t.completionTokens END) AS completionTokens,
       sum(coalesce(t.cachedTokens, 0)) AS cachedTokens,
       sum(coalesce(t.cacheWriteTokens, 0)) AS cacheWriteTokens,
       sum(coalesce(t.reasoningTokens, 0)) AS reasoningTokens,
       sum(CASE WHEN open THEN t.reservedTokens ELSE 0 END) AS reservedTokens,
       sum(coalesce(CASE WHEN open THEN t.reservedUsd ELSE t.costUsd END, 0.0)) AS usd,
       sum(CASE WHEN open THEN coalesce(t.reservedUsd, 0.0) ELSE 0.0 END) AS reservedUsd,
       sum(CASE WHEN (CASE WHEN open THEN t.reservedUsd ELSE t.costUsd END) IS NULL THEN 1 ELSE 0 END) AS unknown
