// Purpose: how many tool calls accepted attempts took, by the kind of their task: what default budgets are drawn from.
// Parameters: $repositoryId. Columns: kind, calls (a list).
MATCH (:Repository {id: $repositoryId})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(t:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.status = 'accepted' AND a.toolCallCount IS NOT NULL
RETURN t.kind AS kind, collect(a.toolCallCount) AS calls ORDER BY kind
