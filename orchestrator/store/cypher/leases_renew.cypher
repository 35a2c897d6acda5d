// Purpose: extend all leases of an owner.
// Parameters: $owner, $until (ISO). Columns: renewed (number).
MATCH (t:Task {leaseOwner: $owner})
SET t.leaseExpiresAt = datetime($until)
RETURN count(t) AS renewed
