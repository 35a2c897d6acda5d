// Purpose: write-lock a planning round.
// Parameters: $id, $at (ISO). Columns: id.
MATCH (r:PlanningRound {id: $id}) SET r.lastEventAt = datetime($at) RETURN r.id AS id
