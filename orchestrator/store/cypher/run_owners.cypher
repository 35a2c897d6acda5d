// Purpose: who holds leases in a run.
// Parameters: $runId. Columns: owner.
MATCH (:Run {id: $runId})-[:EXECUTES]->(:Plan)-[:HAS_TASK]->(t:Task)
WHERE t.leaseOwner IS NOT NULL
RETURN DISTINCT t.leaseOwner AS owner ORDER BY owner
