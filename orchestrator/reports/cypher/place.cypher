// Where an attempt or task stands. $id; columns: repository, plan, task, key, title, status and reason (of the task)
MATCH (p:Plan)-[:HAS_TASK]->(t:Task)
WHERE t.id = $id
RETURN p.repository AS repository, p.id AS plan, t.id AS task, t.key AS key, t.title AS title, t.status AS status,
       t.stopReason AS reason
UNION
MATCH (p:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.id = $id
RETURN p.repository AS repository, p.id AS plan, t.id AS task, t.key AS key, t.title AS title, t.status AS status,
       t.stopReason AS reason
