// Purpose: write-lock a plan's runs, then look which have one of the given statuses, newest first.
// Parameters: $planId, $by, $statuses. Columns: run (properties).
MATCH (:Plan {id: $planId})<-[:EXECUTES]-(r:Run)
SET r.lock = $by
WITH r WHERE r.status IN $statuses
RETURN properties(r) AS run ORDER BY r.startedAt DESC
