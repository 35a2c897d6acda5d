// Purpose: close a locked attempt.
// Parameters: $attemptId, $properties (finishedAt is an ISO string).
MATCH (a:Attempt {id: $attemptId})
SET a += $properties, a.finishedAt = datetime($properties.finishedAt)
