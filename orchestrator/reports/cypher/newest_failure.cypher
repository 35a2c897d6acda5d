// The newest attempt that did not succeed, those of failed tasks first. $repository, $run (null: any); columns: attempt
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.status IN ["rejected", "stopped", "failed"] AND ($run IS NULL OR a.runId = $run)
RETURN a.id AS attempt
ORDER BY CASE WHEN t.status = "failed" THEN 0 ELSE 1 END, a.startedAt DESC, a.id
LIMIT 1
