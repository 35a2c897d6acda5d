// Paths that tasks were granted beyond their own while a run went on. $run; columns: task, paths, decidedBy
MATCH (:Run {id: $run})-[:MADE]->(a:Attempt)-[:REQUESTED]->(b:BudgetRequest)
WHERE b.kind = 'scope' AND b.granted
MATCH (t:Task)-[:HAS_ATTEMPT]->(a)
RETURN t.key AS task, b.paths AS paths, b.decidedBy AS decidedBy ORDER BY task, b.at
