// Purpose: the facts that stand on the attempt itself: Resumed and Finished.
// Parameters: $attemptId, $resumedAt, $resumedFrom, $endedAt (ISO or null), $endReason.
MATCH (a:Attempt {id: $attemptId})
SET a.resumedAt = coalesce(datetime($resumedAt), a.resumedAt),
    a.resumedFrom = coalesce(datetime($resumedFrom), a.resumedFrom),
    a.endedAt = coalesce(datetime($endedAt), a.endedAt),
    a.endReason = coalesce($endReason, a.endReason)
