// Purpose: a run's live attempts whose lease expired or whose owner is dead.
// Parameters: $runId, $live (statuses), $at (ISO), $dead (owners).
// Columns: planId, taskId, taskKey, attemptId, owner, fence, startedAt, lastEventAt.
MATCH (:Run {id: $runId})-[:MADE]->(a:Attempt)<-[:HAS_ATTEMPT]-(t:Task)
WHERE a.status IN $live AND (t.leaseExpiresAt < datetime($at) OR t.leaseOwner IN $dead)
RETURN t.planId AS planId, t.id AS taskId, t.key AS taskKey, a.id AS attemptId, t.leaseOwner AS owner,
       a.fence AS fence, a.startedAt AS startedAt, a.lastEventAt AS lastEventAt ORDER BY t.orderKey
