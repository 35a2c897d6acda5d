// Purpose: set a locked task's status.
// Parameters: $taskId, $status.
MATCH (t:Task {id: $taskId}) SET t.status = $status
