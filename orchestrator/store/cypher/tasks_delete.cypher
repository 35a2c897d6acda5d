// Purpose: remove tasks that a plan no longer has and that nobody attempted.
// Parameters: $ids.
UNWIND $ids AS id
MATCH (t:Task {id: id})
OPTIONAL MATCH (t)-[:ASSESSED_AS]->(a:Assessment)
DETACH DELETE t, a
