// Purpose: write-lock a plan, so that its runs are opened one after another.
// Parameters: $planId, $runId. Columns: status.
MATCH (p:Plan {id: $planId}) SET p.lock = $runId RETURN p.status AS status
