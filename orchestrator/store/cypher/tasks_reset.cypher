// Purpose: make tasks pending again for a new run; none is ready yet.
// Parameters: $planId, $statuses (those to reset), $keys (of tasks; empty: all), $leave (keys of those that stay).
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
WHERE t.status IN $statuses AND (size($keys) = 0 OR t.key IN $keys) AND NOT t.key IN $leave
SET t.status = 'pending', t.fence = coalesce(t.fence, 0) + 1, t.readyKey = null, t.leaseOwner = null,
    t.leaseExpiresAt = null, t.stopReason = null, t.blockedBy = null
