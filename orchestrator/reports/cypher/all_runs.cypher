// A repository's runs, newest first. $repository; columns: run, status, plan, attempts, started, finished, branch
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(p:Plan)<-[:EXECUTES]-(r:Run)
OPTIONAL MATCH (r)-[:MADE]->(a:Attempt)
RETURN r.id AS run, r.status AS status, p.id AS plan, count(a) AS attempts, r.startedAt AS started,
       r.finishedAt AS finished, r.branch AS branch
ORDER BY started DESC, run DESC
