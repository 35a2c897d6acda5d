// Purpose: what an attempt's calls wrote, in order.
// Parameters: $attemptId. Columns: seq (of the call), path, write (properties).
MATCH (:Attempt {id: $attemptId})-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall)-[w:WROTE]->(f:File)
RETURN c.seq AS seq, f.path AS path, properties(w) AS write ORDER BY c.seq, w.position
