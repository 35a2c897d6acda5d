// Purpose: make tasks pending again for a new run; none is ready yet.
// Parameters: $planId, $statuses (those to reset).
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
WHERE t.status IN $statuses
SET t.status = 'pending', t.fence = coalesce(t.fence, 0) + 1, t.readyKey = null, t.leaseOwner = null,
    t.leaseExpiresAt = null, t.stopReason = null, t.blockedBy = null
