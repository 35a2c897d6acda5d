// Purpose: write-lock an attempt, then look: every write about it starts here, so that takeover and record serialise.
// Parameters: $attemptId, $at (ISO). Columns: fence, status, repository, finishedAt.
MATCH (a:Attempt {id: $attemptId})
SET a.lastEventAt = datetime($at)
RETURN a.fence AS fence, a.status AS status, a.repository AS repository, a.finishedAt AS finishedAt
