// Purpose: a plan with its repository.
// Parameters: $planId. Columns: plan, repository (properties).
MATCH (r:Repository)-[:HAS_PLAN]->(p:Plan {id: $planId})
RETURN properties(p) AS plan, properties(r) AS repository
