// Purpose: find a node under one of our labels in a graph without our schema.
// Columns: labels (of one such node; no row: none).
MATCH (n:Repository|Plan|PlanningRound|Task|Assessment|Run|Attempt|Turn|ToolCall|Checkpoint|GuardEvent|BudgetRequest|Check|Failure|Review|Criterion|Finding|Decision|Diagnosis|File)
RETURN labels(n) AS labels LIMIT 1
