// A repository's plans, newest first. $repository; columns: plan, status, tasks, completed, runs, created, goal
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(p:Plan)
OPTIONAL MATCH (p)-[:HAS_TASK]->(t:Task)
WITH p, count(t) AS tasks, sum(CASE WHEN t.status = 'completed' THEN 1 ELSE 0 END) AS completed
OPTIONAL MATCH (r:Run)-[:EXECUTES]->(p)
RETURN p.id AS plan, p.status AS status, tasks, completed, count(r) AS runs, p.createdAt AS created, p.goal AS goal
ORDER BY created DESC, plan DESC
