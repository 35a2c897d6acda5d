// Purpose: the contents that a task's attempts left, each with the commit under it: of one attempt at its end, or all
// that were recorded and whose id begins with a text.
// Parameters: $taskId, $text (an attempt's id, or the beginning of a tree's). Columns: tree, base, number.
MATCH (:Task {id: $taskId})-[:HAS_ATTEMPT]->(a:Attempt)
WHERE a.baseCommit IS NOT NULL
OPTIONAL MATCH (a)-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)
WHERE c.treeAfter STARTS WITH $text
WITH a, collect(c.treeAfter) + [a.treeBefore, a.treeAfter] AS trees
UNWIND trees AS tree
WITH a, tree WHERE tree STARTS WITH $text OR (a.id = $text AND tree = a.treeAfter)
RETURN DISTINCT tree, a.baseCommit AS base, a.number AS number ORDER BY number DESC
