// Purpose: a plan's newest run.
// Parameters: $planId. Columns: run (properties).
MATCH (:Plan {id: $planId})<-[:EXECUTES]-(r:Run)
RETURN properties(r) AS run ORDER BY r.startedAt DESC, r.id DESC LIMIT 1
