// Purpose: the failures that checks showed: one node for each fingerprint of a repository, whoever shows it.
// Parameters: $rows (check, id, count, position; failure with the properties).
UNWIND $rows AS row
MATCH (c:Check {id: row.check})
MERGE (f:Failure {id: row.id})
SET f += row.failure
MERGE (c)-[s:SHOWED]->(f)
SET s.count = row.count, s.position = row.position
