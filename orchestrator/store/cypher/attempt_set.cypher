// Purpose: set properties of a locked attempt.
// Parameters: $attemptId, $properties.
MATCH (a:Attempt {id: $attemptId}) SET a += $properties
