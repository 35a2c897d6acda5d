// Purpose: what a review raised.
// Parameters: $reviewId. Columns: finding (properties).
MATCH (:Review {id: $reviewId})-[:RAISED]->(f:Finding)
RETURN properties(f) AS finding ORDER BY f.position
