// Purpose: move a locked run's head.
// Parameters: $runId, $head.
MATCH (r:Run {id: $runId}) SET r.headCommit = $head
