// Purpose: where what stopped an attempt began.
// Parameters: $attemptId, $firstSeq.
MATCH (:Attempt {id: $attemptId})-[:TRIGGERED]->(g:GuardEvent {verdict: "stop"})
SET g.firstSeq = $firstSeq
