// Purpose: create or refresh a plan's tasks; the status of one that was executed already stays. HAS_TASK is merged from
// the task's side, which has one: the embedded server looks through all of the node on the left.
// Parameters: $planId, $rows ({id, status, task (properties), assessment (properties)}).
MATCH (p:Plan {id: $planId})
UNWIND $rows AS row
MERGE (t:Task {id: row.id})
SET t.status = CASE WHEN t.status IS NULL OR t.status IN ['pending', 'rejected'] THEN row.status ELSE t.status END,
    t += row.task
MERGE (t)<-[:HAS_TASK]-(p)
MERGE (a:Assessment {id: row.assessment.id})
SET a += row.assessment
MERGE (t)-[:ASSESSED_AS]->(a)
