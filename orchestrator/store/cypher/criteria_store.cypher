// Purpose: what a review judged.
// Parameters: $reviewId, $rows (properties).
MATCH (v:Review {id: $reviewId})
UNWIND $rows AS row
MERGE (c:Criterion {id: row.id})
SET c += row
MERGE (v)-[:JUDGED]->(c)
