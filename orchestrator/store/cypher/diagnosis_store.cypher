// Purpose: why a task failed.
// Parameters: $taskId, $diagnosis (properties; at is an ISO string).
MATCH (t:Task {id: $taskId})
MERGE (d:Diagnosis {id: $diagnosis.id})
SET d += $diagnosis, d.at = datetime($diagnosis.at)
MERGE (t)-[:DIAGNOSED_AS]->(d)
