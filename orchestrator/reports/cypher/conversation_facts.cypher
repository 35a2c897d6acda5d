// Everything that happened in a review or a planning round, in order, as nodes. $id; columns: node, answers (seq of the call that a duplicate was served from)
MATCH (:Review {id: $id})-[:TOOK|CALLED|TRIGGERED*1..2]->(n)
WHERE n.seq IS NOT NULL
WITH DISTINCT n
OPTIONAL MATCH (n)-[:DUPLICATE_OF]->(earlier:ToolCall)
RETURN n AS node, earlier.seq AS answers
UNION
MATCH (:PlanningRound {id: $id})-[:TOOK|CALLED|TRIGGERED*1..2]->(n)
WHERE n.seq IS NOT NULL
WITH DISTINCT n
OPTIONAL MATCH (n)-[:DUPLICATE_OF]->(earlier:ToolCall)
RETURN n AS node, earlier.seq AS answers
