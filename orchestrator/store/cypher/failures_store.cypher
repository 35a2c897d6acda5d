// Purpose: the failures that checks showed: one node for each fingerprint of a repository, whoever shows it.
// Parameters: $rows (check and failure by their ids; failure and told with the properties of node and relationship).
UNWIND $rows AS row
MATCH (c:Check {id: row.check})
MERGE (f:Failure {id: row.id})
SET f += row.failure
MERGE (c)-[s:SHOWED]->(f)
SET s += row.told
