// Purpose: what of a repository has an id that starts with a text: plans, runs, tasks, attempts, reviews and
// planning rounds.
// Parameters: $repositoryId, $text.
// Columns: label, id.
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(p:Plan)
WHERE p.id STARTS WITH $text
RETURN 'Plan' AS label, p.id AS id
UNION
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(p:Plan)<-[:EXECUTES]-(r:Run)
WHERE r.id STARTS WITH $text
RETURN 'Run' AS label, r.id AS id
UNION
MATCH (t:Task)
WHERE t.id STARTS WITH $text
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t)
RETURN 'Task' AS label, t.id AS id
UNION
MATCH (a:Attempt)
WHERE a.id STARTS WITH $text
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(:Task)-[:HAS_ATTEMPT]->(a)
RETURN 'Attempt' AS label, a.id AS id
UNION
MATCH (v:Review)
WHERE v.id STARTS WITH $text
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(:Task)-[:HAS_ATTEMPT]->(:Attempt)-[:REVIEWED_BY]->(v)
RETURN 'Review' AS label, v.id AS id
UNION
MATCH (r:PlanningRound)
WHERE r.id STARTS WITH $text
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(:Plan)-[:PLANNED_IN]->(r)
RETURN 'PlanningRound' AS label, r.id AS id
