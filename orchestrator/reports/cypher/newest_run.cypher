// A repository's newest run. $repository; columns: run, status
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)<-[:EXECUTES]-(r:Run)
RETURN r.id AS run, r.status AS status
ORDER BY r.startedAt DESC, r.id DESC
LIMIT 1
