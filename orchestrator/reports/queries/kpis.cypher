// title: Key figures
// description: Success rate of the tasks that were tried, executed calls and attempts per task (all of its attempts), and tasks over 100 calls.
// param repository: id of the repository; orchestrate fills in the current one
// columns: tasks, tried, completed, failed, blocked, successRate, medianCalls, mostCalls, attemptsPerTask, tasksOver100Calls
// In Neo4j Browser first run   :param {repository: "<id>"}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)
OPTIONAL MATCH (t)-[:HAS_ATTEMPT]->(a:Attempt)
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall) WHERE c.executed
WITH t, a, count(c) AS executed
WITH t, count(a) AS attempts, sum(CASE WHEN a IS NULL THEN 0 ELSE coalesce(a.toolCallCount, executed) END) AS calls
WITH count(t) AS tasks,
     sum(CASE WHEN attempts > 0 THEN 1 ELSE 0 END) AS tried,
     sum(CASE WHEN t.status = "completed" THEN 1 ELSE 0 END) AS completed,
     sum(CASE WHEN t.status = "failed" THEN 1 ELSE 0 END) AS failed,
     sum(CASE WHEN t.status = "blocked" THEN 1 ELSE 0 END) AS blocked,
     toFloat(percentileCont(CASE WHEN attempts > 0 THEN calls ELSE null END, 0.5)) AS medianCalls,
     max(CASE WHEN attempts > 0 THEN calls ELSE null END) AS mostCalls,
     sum(attempts) AS allAttempts,
     sum(CASE WHEN calls > 100 THEN 1 ELSE 0 END) AS tasksOver100Calls
RETURN tasks, tried, completed, failed, blocked,
       CASE WHEN completed + failed > 0 THEN round(100.0 * completed / (completed + failed)) / 100.0 ELSE null END AS successRate,
       medianCalls, mostCalls,
       CASE WHEN tried > 0 THEN round(100.0 * allAttempts / tried) / 100.0 ELSE null END AS attemptsPerTask,
       tasksOver100Calls
