// Purpose: a locked task whose attempt was interrupted may be claimed again; the fence rises.
// Parameters: $taskId, $fence (the new one), $errorContextJson (the attempt's).
MATCH (t:Task {id: $taskId})
SET t.status = 'pending', t.fence = $fence, t.leaseOwner = null, t.leaseExpiresAt = null, t.readyKey = t.orderKey,
    t.errorContextJson = $errorContextJson
