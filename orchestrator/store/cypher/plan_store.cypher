// Purpose: create or refresh a plan of its repository.
// Parameters: $plan (properties; createdAt is an ISO string; repository is the repository's id).
MATCH (r:Repository {id: $plan.repository})
MERGE (p:Plan {id: $plan.id})
SET p += $plan, p.createdAt = datetime($plan.createdAt)
MERGE (r)-[:HAS_PLAN]->(p)
