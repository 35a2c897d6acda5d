// Purpose: set a run's status; $finishedAt null opens it again.
// Parameters: $runId, $status, $finishedAt (ISO or null).
MATCH (r:Run {id: $runId}) SET r.status = $status, r.finishedAt = datetime($finishedAt)
