// Purpose: whether a run may be worked for, and whose repository it is.
// Parameters: $runId. Columns: status, repository.
MATCH (r:Run {id: $runId})-[:EXECUTES]->(p:Plan) RETURN r.status AS status, p.repository AS repository
