// title: Failures that recur across attempts
// description: Findings and failures with the same fingerprint in more than one attempt, most frequent first.
// param repository: id of the repository; orchestrate fills in the current one
// param limit = 20: rows at most
// columns: fingerprint, kind, code, locus, attempts, tasks, message
// In Neo4j Browser first run   :param {repository: "<id>", limit: 20}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
MATCH (a)-[:FOUND|REVIEWED_BY|RAISED|CHECKED_BY|SHOWED*1..2]->(f)
WHERE f.fingerprint <> ""
WITH DISTINCT t.key AS task, a.id AS attempt, f.fingerprint AS fingerprint, head(labels(f)) AS kind,
     coalesce(f.code, f.testName, f.command, "") AS code, coalesce(f.locus, "") AS locus,
     coalesce(f.message, f.signature, "") AS message
ORDER BY fingerprint, task, attempt, message
WITH fingerprint, min(kind) AS kind, min(code) AS code, min(locus) AS locus, min(message) AS message,
     count(DISTINCT attempt) AS attempts, collect(DISTINCT task) AS tasks
WHERE attempts > 1
RETURN fingerprint, kind, code, locus, attempts, tasks, message
ORDER BY attempts DESC, fingerprint
LIMIT toInteger($limit)
