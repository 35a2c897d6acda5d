// Purpose: from when to when each of a task's attempts in one run was worked on, as run_spans has it. It begins at the
// task, because a run has many attempts.
// Parameters: $taskId, $runId. Columns: begun, ended.
MATCH (:Task {id: $taskId})-[:HAS_ATTEMPT]->(a:Attempt {runId: $runId})
RETURN a.startedAt AS begun,
       coalesce(CASE WHEN a.status = 'interrupted' THEN a.lastEventAt ELSE a.finishedAt END, a.lastEventAt, a.startedAt)
         AS ended
ORDER BY begun
