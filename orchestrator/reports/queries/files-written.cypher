// title: Files written most
// description: Files by the number of writes that changed more than white space, with the lines of all writes.
// param repository: id of the repository; orchestrate fills in the current one
// param limit = 20: rows at most
// columns: path, writes, substantiveWrites, attempts, tasks, added, removed
// In Neo4j Browser first run   :param {repository: "<id>", limit: 20}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(:ToolCall)-[w:WROTE]->(f:File)
WITH f.path AS path, t.key AS task, a.id AS attempt, w
ORDER BY path, task
WITH path, count(w) AS writes, sum(CASE WHEN w.substantive THEN 1 ELSE 0 END) AS substantiveWrites,
     count(DISTINCT attempt) AS attempts, collect(DISTINCT task) AS tasks,
     sum(w.added) AS added, sum(w.removed) AS removed
RETURN path, writes, substantiveWrites, attempts, tasks, added, removed
ORDER BY substantiveWrites DESC, writes DESC, path
LIMIT toInteger($limit)
