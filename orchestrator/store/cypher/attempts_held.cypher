// Purpose: the attempts whose tasks an owner holds.
// Parameters: $owner. Columns: id.
MATCH (t:Task {leaseOwner: $owner})
RETURN t.id + ':' + toString(t.attemptNumber) AS id
