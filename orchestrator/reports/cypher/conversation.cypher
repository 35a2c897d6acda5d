// A review or a planning round, and what it belongs to. $id; columns: label, node (properties), belongs_to (attempt or plan), criteria, findings (properties, in order)
MATCH (a:Attempt)-[:REVIEWED_BY]->(v:Review {id: $id})
OPTIONAL MATCH (v)-[:JUDGED]->(c:Criterion)
WITH a, v, c ORDER BY c.position
WITH a, v, collect(properties(c)) AS criteria
OPTIONAL MATCH (v)-[:RAISED]->(f:Finding)
WITH a, v, criteria, f ORDER BY f.position
RETURN 'Review' AS label, properties(v) AS node, a.id AS belongs_to, criteria, collect(properties(f)) AS findings
UNION
MATCH (p:Plan)-[:PLANNED_IN]->(r:PlanningRound {id: $id})
RETURN 'PlanningRound' AS label, properties(r) AS node, p.id AS belongs_to, [] AS criteria, [] AS findings
