// Purpose: a plan's runs with one of the given statuses, newest first.
// Parameters: $planId, $statuses. Columns: run (properties).
MATCH (:Plan {id: $planId})<-[:EXECUTES]-(r:Run)
WHERE r.status IN $statuses
RETURN properties(r) AS run ORDER BY r.startedAt DESC
