// Purpose: from when to when each of a run's attempts, or those of one task in it, was worked on; one that died ends
// with its last fact.
// Parameters: $runId, $taskId (null: all). Columns: begun, ended.
MATCH (:Run {id: $runId})-[:MADE]->(a:Attempt)
WHERE $taskId IS NULL OR a.taskId = $taskId
RETURN a.startedAt AS begun,
       coalesce(CASE WHEN a.status = 'interrupted' THEN a.lastEventAt ELSE a.finishedAt END, a.lastEventAt, a.startedAt)
         AS ended
ORDER BY begun
