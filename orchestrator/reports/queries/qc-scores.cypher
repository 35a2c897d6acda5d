// title: QC scores by model
// description: What QC thought of each worker model's attempts, by the model that reviewed them.
// param repository: id of the repository; orchestrate fills in the current one
// columns: workerModel, qcModel, reviews, passed, passRate, meanScore, medianScore, lowestScore
// In Neo4j Browser first run   :param {repository: "<id>"}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(:Task)-[:HAS_ATTEMPT]->(a:Attempt)
MATCH (a)-[:REVIEWED_BY]->(v:Review)
WHERE v.passed IS NOT NULL
WITH a.model AS workerModel, v.model AS qcModel, count(v) AS reviews,
     sum(CASE WHEN v.passed THEN 1 ELSE 0 END) AS passed, avg(v.score) AS mean,
     toFloat(percentileCont(v.score, 0.5)) AS medianScore, min(v.score) AS lowestScore
RETURN workerModel, qcModel, reviews, passed, round(100.0 * passed / reviews) / 100.0 AS passRate,
       round(10.0 * mean) / 10.0 AS meanScore, medianScore, lowestScore
ORDER BY workerModel, qcModel
