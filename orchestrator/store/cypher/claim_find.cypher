// Purpose: the claim that an earlier try of the same transaction made, when its acknowledgement was lost.
// Parameters: $token. Columns: task (properties), attempt (properties).
MATCH (a:Attempt {claimToken: $token})<-[:HAS_ATTEMPT]-(t:Task)
RETURN properties(t) AS task, properties(a) AS attempt
