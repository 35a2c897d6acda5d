// Purpose: create or complete an attempt's review.
// Parameters: $attemptId, $review (properties; at is an ISO string).
MATCH (a:Attempt {id: $attemptId})
MERGE (v:Review {id: $review.id})
SET v += $review, v.at = datetime($review.at)
MERGE (a)-[:REVIEWED_BY]->(v)
