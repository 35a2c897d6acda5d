// Purpose: write-lock a run, then look at what its attempts have used that are other workers' than the asking one, with
// their reviews and the PM's decisions about their requests; an unsettled turn counts with what it reserved. The lock
// comes first, so that two processes cannot both find room for the last turn.
// Parameters: $runId, $by (who asks, new each time), $worker (the asking process's name), $known (ids of closed attempts
// that it has looked at before: they cannot change any more).
// Columns: attemptId, taskId, closed, promptTokens, completionTokens, usd, unknown (turns without price), waitMs, begun,
// ended.
MATCH (run:Run {id: $runId})
SET run.lock = $by
WITH run
MATCH (run)-[:MADE]->(a:Attempt)
WHERE a.owner <> $worker AND NOT a.id IN $known
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review)
WITH a, collect(v) AS reviews
OPTIONAL MATCH (r:PlanningRound) WHERE r.id STARTS WITH a.id + ':'
WITH a, reviews, collect(r) AS rounds
UNWIND reviews + rounds + [a] AS owner
MATCH (owner)-[:TOOK]->(t:Turn)
WITH a, t, t.status = 'requested' AS open
RETURN a.id AS attemptId, a.taskId AS taskId, a.finishedAt IS NOT NULL AS closed,
       sum(CASE WHEN open THEN t.reservedTokens ELSE t.promptTokens END) AS promptTokens,
       sum(CASE WHEN open THEN 0 ELSE t.completionTokens END) AS completionTokens,
       sum(coalesce(CASE WHEN open THEN t.reservedUsd ELSE t.costUsd END, 0.0)) AS usd,
       sum(CASE WHEN (CASE WHEN open THEN t.reservedUsd ELSE t.costUsd END) IS NULL THEN 1 ELSE 0 END) AS unknown,
       sum(coalesce(t.waitMs, 0.0)) AS waitMs,
       a.startedAt AS begun,
       coalesce(CASE WHEN a.status = 'interrupted' THEN a.lastEventAt ELSE a.finishedAt END, a.lastEventAt, a.startedAt)
         AS ended
