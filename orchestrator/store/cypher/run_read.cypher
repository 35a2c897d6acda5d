// Purpose: a run.
// Parameters: $runId. Columns: run (properties).
MATCH (r:Run {id: $runId}) RETURN properties(r) AS run
