// Purpose: close the live attempts of a plan whose run is over; the higher fence stops their writers.
// Parameters: $planId, $keys (of tasks; empty: all), $live (statuses), $at (ISO), $told (properties: why they ended).
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.status IN $live AND (size($keys) = 0 OR t.key IN $keys)
SET a += $told, a.status = 'cancelled', a.finishedAt = datetime($at), a.fence = a.fence + 1,
    t.errorContextJson = $told.errorContextJson
