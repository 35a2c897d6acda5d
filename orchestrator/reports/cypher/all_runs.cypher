// A repository's runs, newest first. $repository; columns: run, status, started, finished, attempts, plan, branch
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(p:Plan)<-[:EXECUTES]-(r:Run)
OPTIONAL MATCH (r)-[:MADE]->(a:Attempt)
RETURN r.id AS run, r.status AS status, r.startedAt AS started, r.finishedAt AS finished, count(a) AS attempts,
       p.id AS plan, r.branch AS branch
ORDER BY started DESC, run DESC
