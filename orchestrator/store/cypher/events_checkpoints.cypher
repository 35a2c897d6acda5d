// Purpose: an attempt's progress reports.
// Parameters: $attemptId. Columns: checkpoint (properties).
MATCH (:Attempt {id: $attemptId})-[:REPORTED]->(c:Checkpoint)
RETURN properties(c) AS checkpoint ORDER BY c.seq
