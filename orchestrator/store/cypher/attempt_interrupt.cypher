// Purpose: close a locked attempt whose owner is gone.
// Parameters: $attemptId, $fence (the new one), $at (ISO).
MATCH (a:Attempt {id: $attemptId})
SET a.status = 'interrupted', a.stopReason = 'interrupted', a.fence = $fence, a.finishedAt = datetime($at)
