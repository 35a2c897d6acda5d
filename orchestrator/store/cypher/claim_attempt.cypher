// Purpose: create the attempt of a claimed task. MADE is merged from the attempt's side: the embedded server looks
// through all relationships of the node on the left, and the run has one for each attempt of it.
// Parameters: $attempt (properties; startedAt is an ISO string).
MATCH (t:Task {id: $attempt.taskId})
MATCH (r:Run {id: $attempt.runId})
MERGE (a:Attempt {id: $attempt.id})
SET a += $attempt, a.startedAt = datetime($attempt.startedAt), a.lastEventAt = datetime($attempt.startedAt)
MERGE (t)-[:HAS_ATTEMPT]->(a)
MERGE (a)<-[:MADE]-(r)
