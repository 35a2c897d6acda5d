// Purpose: what a review judged.
// Parameters: $reviewId. Columns: criterion (properties).
MATCH (:Review {id: $reviewId})-[:JUDGED]->(c:Criterion)
RETURN properties(c) AS criterion ORDER BY c.position
