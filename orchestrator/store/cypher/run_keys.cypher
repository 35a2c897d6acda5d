// Purpose: say which tasks a locked run is about (none: all of its plan).
// Parameters: $runId, $keys.
MATCH (r:Run {id: $runId}) SET r.keys = $keys
