// Purpose: create or complete a planning round.
// Parameters: $round (properties). Columns: id (no row: there is no such plan).
MATCH (p:Plan {id: $round.planId})
MERGE (r:PlanningRound {id: $round.id})
SET r += $round
MERGE (p)-[:PLANNED_IN]->(r)
RETURN r.id AS id
