// Purpose: write-lock a run and look at it.
// Parameters: $runId, $by. Columns: status, planId, headCommit.
MATCH (r:Run {id: $runId}) SET r.lock = $by
RETURN r.status AS status, r.planId AS planId, r.headCommit AS headCommit
