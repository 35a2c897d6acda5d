// Purpose: write-lock the tasks that depend directly on some tasks, before anybody looks at them.
// Parameters: $ids, $by. Columns: id.
UNWIND $ids AS id
MATCH (:Task {id: id})<-[:DEPENDS_ON]-(d:Task)
SET d.lock = $by
RETURN DISTINCT d.id AS id
