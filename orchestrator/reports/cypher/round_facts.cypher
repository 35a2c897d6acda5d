// Everything that happened in a plan's planning rounds, in order, as nodes. $plan; columns: number (of the round), node, answers (seq of the call that a duplicate was served from)
MATCH (:Plan {id: $plan})-[:PLANNED_IN]->(r:PlanningRound)-[:TOOK|CALLED|TRIGGERED*1..2]->(n)
WHERE n.seq IS NOT NULL
WITH DISTINCT r, n
OPTIONAL MATCH (n)-[:DUPLICATE_OF]->(earlier:ToolCall)
RETURN r.number AS number, n AS node, earlier.seq AS answers
ORDER BY number, n.seq
