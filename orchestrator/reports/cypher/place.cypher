// Where an attempt or task stands. $id; columns: plan, task, key, title
MATCH (p:Plan)-[:HAS_TASK]->(t:Task)
WHERE t.id = $id
RETURN p.id AS plan, t.id AS task, t.key AS key, t.title AS title
UNION
MATCH (p:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.id = $id
RETURN p.id AS plan, t.id AS task, t.key AS key, t.title AS title
