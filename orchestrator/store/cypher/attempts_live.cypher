// Purpose: write-lock the live attempts of tasks.
// Parameters: $ids (of tasks), $live (statuses), $by. Columns: taskId, id, status, fence, startedAt, lastEventAt.
UNWIND $ids AS id
MATCH (:Task {id: id})-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.status IN $live
SET a.lock = $by
RETURN id AS taskId, a.id AS id, a.status AS status, a.fence AS fence, a.startedAt AS startedAt,
       a.lastEventAt AS lastEventAt
