// Purpose: what a run's commands showed over the commit under its work, and whose repository it is.
// Parameters: $runId, $baseline, $rows (properties of its checks; instants are ISO strings). Columns: repository.
MATCH (r:Run {id: $runId})-[:EXECUTES]->(p:Plan)<-[:HAS_PLAN]-(g:Repository)
MERGE (b:Baseline {id: $baseline.id})
SET b += $baseline, b.capturedAt = datetime($baseline.capturedAt)
MERGE (r)-[:MEASURED]->(b)
WITH b, g
UNWIND $rows AS row
MERGE (c:Check {id: row.id})
SET c += row, c.startedAt = datetime(row.startedAt)
MERGE (b)-[:CHECKED_BY]->(c)
RETURN DISTINCT g.id AS repository
