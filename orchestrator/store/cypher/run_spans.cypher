// Purpose: from when to when each of a run's attempts was worked on; one that died ends with its last fact.
// Parameters: $runId. Columns: begun, ended.
MATCH (:Run {id: $runId})-[:MADE]->(a:Attempt)
RETURN a.startedAt AS begun,
       coalesce(CASE WHEN a.status = 'interrupted' THEN a.lastEventAt ELSE a.finishedAt END, a.lastEventAt, a.startedAt)
         AS ended
ORDER BY begun
