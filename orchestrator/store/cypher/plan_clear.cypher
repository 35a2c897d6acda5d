// Purpose: remove a plan's dependencies and file relationships, before they are written anew.
// Parameters: $planId.
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(:Task)-[d:DEPENDS_ON|READS|WRITES]->()
DELETE d
