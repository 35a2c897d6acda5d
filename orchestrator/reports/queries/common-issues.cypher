// title: Common issues
// description: What attempts are held up by: findings by code and source, most frequent first, with one example.
// param repository: id of the repository; orchestrate fills in the current one
// param limit = 20: rows at most
// columns: code, source, severity, findings, attempts, tasks, example
// In Neo4j Browser first run   :param {repository: "<id>", limit: 20}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
MATCH (a)-[:FOUND|REVIEWED_BY|RAISED*1..2]->(f:Finding)
WITH DISTINCT f, a.id AS attempt, t.key AS task
ORDER BY task, attempt
WITH f.code AS code, f.source AS source, f.severity AS severity, count(DISTINCT f.id) AS findings,
     count(DISTINCT attempt) AS attempts, collect(DISTINCT task) AS tasks, min(f.message) AS example
RETURN code, source, severity, findings, attempts, tasks, example
ORDER BY findings DESC, code, source, severity
LIMIT toInteger($limit)
