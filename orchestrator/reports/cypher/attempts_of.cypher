// The attempts of a plan, a run or a task, or the one of this id. $of; columns: attempt
MATCH (:Plan {id: $of})-[:HAS_TASK]->(:Task)-[:HAS_ATTEMPT]->(a:Attempt)
RETURN a.id AS attempt
UNION
MATCH (:Run {id: $of})-[:MADE]->(a:Attempt)
RETURN a.id AS attempt
UNION
MATCH (:Task {id: $of})-[:HAS_ATTEMPT]->(a:Attempt)
RETURN a.id AS attempt
UNION
MATCH (a:Attempt {id: $of})
RETURN a.id AS attempt
