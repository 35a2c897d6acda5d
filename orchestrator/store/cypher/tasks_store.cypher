// Purpose: create or refresh a plan's tasks; the status of one that was executed already stays.
// Parameters: $planId, $rows ({id, status, task (properties), assessment (properties)}).
MATCH (p:Plan {id: $planId})
UNWIND $rows AS row
MERGE (t:Task {id: row.id})
SET t.status = CASE WHEN t.status IS NULL OR t.status IN ['pending', 'rejected'] THEN row.status ELSE t.status END,
    t += row.task
MERGE (p)-[:HAS_TASK]->(t)
MERGE (a:Assessment {id: row.assessment.id})
SET a += row.assessment
MERGE (t)-[:ASSESSED_AS]->(a)
