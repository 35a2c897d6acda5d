// Purpose: a task's attempts, oldest first.
// Parameters: $taskId. Columns: id.
MATCH (:Task {id: $taskId})-[:HAS_ATTEMPT]->(a:Attempt)
RETURN a.id AS id ORDER BY a.number
