// Purpose: what a review raised.
// Parameters: $reviewId, $rows (properties).
MATCH (v:Review {id: $reviewId})
UNWIND $rows AS row
MERGE (f:Finding {id: row.id})
SET f += row
MERGE (v)-[:RAISED]->(f)
