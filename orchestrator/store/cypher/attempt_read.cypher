// Purpose: an attempt.
// Parameters: $attemptId. Columns: attempt (properties).
MATCH (a:Attempt {id: $attemptId}) RETURN properties(a) AS attempt
