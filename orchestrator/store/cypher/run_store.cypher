// Purpose: create a run over a plan.
// Parameters: $run (properties; startedAt and finishedAt are ISO strings).
MATCH (p:Plan {id: $run.planId})
MERGE (r:Run {id: $run.id})
SET r += $run, r.startedAt = datetime($run.startedAt), r.finishedAt = datetime($run.finishedAt)
MERGE (r)-[:EXECUTES]->(p)
