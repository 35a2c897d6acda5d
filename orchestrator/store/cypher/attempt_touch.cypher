// Purpose: write-lock an attempt, then look, without telling that something happened to it.
// Parameters: $attemptId, $by. Columns: fence, status, repository, finishedAt.
MATCH (a:Attempt {id: $attemptId})
SET a.lock = $by
RETURN a.fence AS fence, a.status AS status, a.repository AS repository, a.finishedAt AS finishedAt
