// Purpose: tasks that wait for one that was opened again are not ready any more.
// Parameters: $ids.
UNWIND $ids AS id
MATCH (d:Task {id: id})
WHERE d.status = 'pending'
SET d.readyKey = null
