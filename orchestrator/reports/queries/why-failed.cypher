// title: Why did this task fail?
// description: Every attempt of the task in order: how it ended, which guard stopped it, and what was held against it. A detail that the findings say already is left out; the diagnosis stands with the last attempt.
// param repository: id of the repository; orchestrate fills in the current one
// param task = "": key or id of the task; "" is the task that failed last
// columns: task, status, reason, attempt, attemptStatus, stopReason, stopDetail, guard, findings, failedChecks, score, diagnosis
// In Neo4j Browser first run   :param {repository: "<id>", task: ""}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(p:Plan)-[:HAS_TASK]->(t:Task)
WHERE t.id = $task OR t.key = $task OR ($task = "" AND t.status = "failed")
OPTIONAL MATCH (t)-[:HAS_ATTEMPT]->(latest:Attempt)
WITH t, p.createdAt AS planned, max(latest.startedAt) AS tried
ORDER BY coalesce(tried, planned) DESC, t.id
LIMIT 1
OPTIONAL MATCH (t)-[:DIAGNOSED_AS]->(d:Diagnosis)
WITH t, d ORDER BY d.at DESC
WITH t, head(collect(d.summary)) AS diagnosis
OPTIONAL MATCH (t)-[:HAS_ATTEMPT]->(a:Attempt)
OPTIONAL MATCH (a)-[:TRIGGERED]->(g:GuardEvent {verdict: "stop"})
WITH t, diagnosis, a, g ORDER BY g.seq
WITH t, diagnosis, a,
     collect(g.guard + " (" + toString(g.observed) + " seen, limit " + toString(g.limit) + ")") AS guards
OPTIONAL MATCH (a)-[:FOUND|REVIEWED_BY|RAISED*1..2]->(f:Finding)
WHERE f.severity IN ["critical", "error"]
  AND (a.stopReason = "review_error" OR NOT f.code IN ["criterion_unjudged", "criterion_unproven", "evidence_false"])
WITH DISTINCT t, diagnosis, a, guards, f.code AS code, f.locus AS locus, f.message AS message, f.source AS source
ORDER BY source, code, locus, message
WITH t, diagnosis, a, guards, collect(message) AS messages,
     collect(code + CASE WHEN locus <> "" THEN " at " + locus ELSE "" END + ": " + message) AS findings
OPTIONAL MATCH (a)-[:CHECKED_BY]->(c:Check)
WHERE c.outcome <> "passed" AND coalesce(c.phase, "") <> "review"
WITH t, diagnosis, a, guards, messages, findings, c
ORDER BY c.startedAt, c.command
WITH t, diagnosis, a, guards, messages, findings,
     collect(c.command + " -> " + coalesce("exit " + toString(c.exitCode), c.outcome)) AS failedChecks
OPTIONAL MATCH (t)-[:HAS_ATTEMPT]->(later:Attempt)
WHERE later.number > a.number
WITH t, diagnosis, a, guards, messages, findings, failedChecks, count(later) AS later
RETURN t.key AS task, t.status AS status, t.stopReason AS reason,
       a.number AS attempt, a.status AS attemptStatus, a.stopReason AS stopReason,
       CASE WHEN any(m IN messages WHERE m CONTAINS a.stopDetail)
              OR (size(messages) > 0 AND all(m IN messages WHERE a.stopDetail CONTAINS m))
            THEN null ELSE a.stopDetail END AS stopDetail,
       head(guards) AS guard, findings, failedChecks, a.qcScore AS score,
       CASE WHEN later = 0 THEN diagnosis END AS diagnosis
ORDER BY a.number
