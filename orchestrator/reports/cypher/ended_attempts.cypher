// A repository's attempts that have ended, oldest first. $repository; columns: attempt, budget, allowedPaths
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.finishedAt IS NOT NULL
RETURN a.id AS attempt, coalesce(a.toolCallBudget, t.toolCallBudget) AS budget,
       coalesce(a.allowedPaths, t.allowedPaths, []) AS allowedPaths
ORDER BY a.startedAt, a.id
