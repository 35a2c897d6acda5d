// Purpose: write-lock a task, then look.
// Parameters: $taskId, $by. Columns: status, fence.
MATCH (t:Task {id: $taskId}) SET t.lock = $by RETURN t.status AS status, t.fence AS fence
