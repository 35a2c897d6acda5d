// Purpose: set a plan's status.
// Parameters: $planId, $status.
MATCH (p:Plan {id: $planId}) SET p.status = $status
