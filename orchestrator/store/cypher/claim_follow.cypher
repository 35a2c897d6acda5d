// Purpose: link an attempt to the task's previous one of the same run.
// Parameters: $attemptId, $taskId, $runId, $number.
MATCH (a:Attempt {id: $attemptId})
MATCH (:Task {id: $taskId})-[:HAS_ATTEMPT]->(b:Attempt)
WHERE b.runId = $runId AND b.number < $number
WITH a, b ORDER BY b.number DESC LIMIT 1
SET a.follows = b.id
MERGE (a)-[:FOLLOWS]->(b)
