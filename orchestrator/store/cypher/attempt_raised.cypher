// Purpose: what QC holds against an attempt: by its newest review that came to a verdict, else by all of them.
// Parameters: $attemptId. Columns: finding (properties).
MATCH (:Attempt {id: $attemptId})-[:REVIEWED_BY]->(v:Review)
WITH v ORDER BY v.at, v.id
WITH collect(v) AS reviews
WITH reviews, [v IN reviews WHERE v.passed IS NOT NULL] AS judged
UNWIND CASE WHEN size(judged) = 0 THEN reviews ELSE [last(judged)] END AS v
MATCH (v)-[:RAISED]->(f:Finding)
RETURN properties(f) AS finding ORDER BY v.id, f.position
