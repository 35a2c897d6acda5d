// Purpose: what of a repository has an id that starts with a text: plans and runs, and below them tasks and attempts
// when the text names a plan whole.
// Parameters: $repositoryId, $text, $plan (the text up to the first colon), $below (whether there is a colon).
// Columns: label, id.
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(p:Plan)
WHERE p.id STARTS WITH $text
RETURN 'Plan' AS label, p.id AS id
UNION
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(p:Plan)<-[:EXECUTES]-(r:Run)
WHERE r.id STARTS WITH $text
RETURN 'Run' AS label, r.id AS id
UNION
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(p:Plan)-[:HAS_TASK]->(t:Task)
WHERE $below AND p.id = $plan AND t.id STARTS WITH $text
RETURN 'Task' AS label, t.id AS id
UNION
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(p:Plan)-[:HAS_TASK]->(:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE $below AND p.id = $plan AND a.id STARTS WITH $text
RETURN 'Attempt' AS label, a.id AS id
