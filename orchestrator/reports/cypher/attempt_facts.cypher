// Everything that happened in an attempt, in order, as nodes. $attempt; columns: node, answers (seq of the call that a duplicate was served from)
MATCH (a:Attempt {id: $attempt})-[:TOOK|CALLED|REPORTED|TRIGGERED|REQUESTED*1..2]->(n)
WHERE n.seq IS NOT NULL
WITH DISTINCT n
OPTIONAL MATCH (n)-[:DUPLICATE_OF]->(earlier:ToolCall)
RETURN n AS node, earlier.seq AS answers
ORDER BY n.seq
