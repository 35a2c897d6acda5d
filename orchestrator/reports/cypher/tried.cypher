// What attempts have used of their tasks' bounds, in the order in which they began. $ids; columns: task, max_attempts, run, number, status, stop_reason, stop_detail, passes (ids of check passes), reviews
UNWIND $ids AS id
MATCH (t:Task)-[:HAS_ATTEMPT]->(a:Attempt {id: id})
OPTIONAL MATCH (a)-[:CONCLUDED]->(d:Decision) WHERE coalesce(d.phase, "verification") <> "merge"
WITH t, a, collect(d.passId) AS decided
OPTIONAL MATCH (a)-[:CHECKED_BY]->(c:Check {phase: "verification"})
WITH t, a, decided, collect(DISTINCT c.passId) AS ran
WITH t, a, decided + ran AS passes
OPTIONAL MATCH (a)-[:REVIEWED_BY]->(v:Review) WHERE v.cached IS NULL AND v.afterwards IS NULL
WITH t, a, passes, count(v) AS reviews
WHERE a.number > coalesce(t.retriedAfter, 0)
RETURN t.key AS task, t.maxAttempts AS max_attempts, a.runId AS run, a.number AS number, a.status AS status,
       a.stopReason AS stop_reason, a.stopDetail AS stop_detail, passes, reviews
ORDER BY a.startedAt, a.id
