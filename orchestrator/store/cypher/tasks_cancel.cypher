// Purpose: write-lock tasks, then cancel those that have one of the given statuses; the higher fence stops who works on
// one of them.
// Parameters: $ids, $by, $statuses. Columns: id, key (of the cancelled ones).
UNWIND $ids AS id
MATCH (t:Task {id: id})
SET t.lock = $by
WITH t WHERE t.status IN $statuses
SET t.status = 'cancelled', t.stopReason = 'cancelled', t.blockedBy = null, t.readyKey = null,
    t.fence = coalesce(t.fence, 0) + 1, t.leaseOwner = null, t.leaseExpiresAt = null
RETURN t.id AS id, t.key AS key
