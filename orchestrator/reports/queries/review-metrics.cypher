// title: How QC's models review
// description: Of each model that reviews: how many reviews it took, how many came to no verdict and for which reasons, its pass rate, reviews per task, and how many tasks that it had passed were opened again. Verdicts that were taken over are no reviews.
// param repository: id of the repository; orchestrate fills in the current one
// columns: qcModel, tasks, reviews, noVerdict, passed, passRate, reviewsPerTask, laterReopened, reopenedRate, commonIssues
// In Neo4j Browser first run   :param {repository: "<id>"}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
MATCH (a)-[:REVIEWED_BY]->(v:Review)
WHERE v.cached IS NULL
OPTIONAL MATCH (v)-[:RAISED]->(f:Finding)
WITH v, t, a, f.code AS code, count(f) AS times
ORDER BY times DESC, code
WITH v, t, a, collect(code) AS codes
OPTIONAL MATCH (t)-[:RETRIED]->(r:Retry)
WHERE r.reviewId IS NOT NULL AND r.afterAttempt >= a.number AND v.passed AND a.status = "accepted" AND v.afterwards IS NULL
WITH v, t, codes, count(r) > 0 AS reopened
WITH v.model AS qcModel, count(DISTINCT t) AS tasks, count(v) AS reviews,
     sum(CASE WHEN v.passed IS NULL THEN 1 ELSE 0 END) AS noVerdict,
     sum(CASE WHEN v.passed THEN 1 ELSE 0 END) AS passed,
     count(DISTINCT CASE WHEN v.passed THEN t END) AS passedTasks,
     count(DISTINCT CASE WHEN reopened THEN t END) AS laterReopened,
     collect(codes) AS raised
UNWIND CASE WHEN size(raised) = 0 THEN [[]] ELSE raised END AS codes
UNWIND CASE WHEN size(codes) = 0 THEN [null] ELSE codes END AS code
WITH qcModel, tasks, reviews, noVerdict, passed, passedTasks, laterReopened, code, count(code) AS times
ORDER BY times DESC, code
WITH qcModel, tasks, reviews, noVerdict, passed, passedTasks, laterReopened, collect(code)[0..3] AS commonIssues
RETURN qcModel, tasks, reviews, noVerdict, passed,
       CASE WHEN reviews > noVerdict THEN round(100.0 * passed / (reviews - noVerdict)) / 100.0 ELSE null END AS passRate,
       round(100.0 * reviews / tasks) / 100.0 AS reviewsPerTask, laterReopened,
       CASE WHEN passedTasks > 0 THEN round(100.0 * laterReopened / passedTasks) / 100.0 ELSE null END AS reopenedRate,
       commonIssues
ORDER BY qcModel
