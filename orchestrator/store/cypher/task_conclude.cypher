// Purpose: give a locked task its status after an attempt, with what the attempt was; the lease ends.
// Parameters: $taskId, $properties, $ready (whether it may be claimed again).
MATCH (t:Task {id: $taskId})
SET t += $properties, t.leaseOwner = null, t.leaseExpiresAt = null,
    t.readyKey = CASE WHEN $ready THEN t.orderKey ELSE null END
