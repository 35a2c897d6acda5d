// Purpose: a repository's newest plan.
// Parameters: $repositoryId, $status (null: any). Columns: id.
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(p:Plan)
WHERE $status IS NULL OR p.status = $status
RETURN p.id AS id ORDER BY p.createdAt DESC, p.id DESC LIMIT 1
