// Which files the newest attempt at a task may not change: the first by name, and how many there are. $task; columns: files, count
MATCH (:Task {id: $task})-[:HAS_ATTEMPT]->(a:Attempt) WHERE a.protectedCount IS NOT NULL
RETURN a.protectedFiles AS files, a.protectedCount AS count ORDER BY a.number DESC LIMIT 1
