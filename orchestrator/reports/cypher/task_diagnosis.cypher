// Why a task failed, newest first. $task; columns: summary, openFindings, tried, actions
MATCH (t:Task {id: $task})-[:DIAGNOSED_AS]->(d:Diagnosis)
RETURN d.summary AS summary, d.openFindings AS openFindings, d.tried AS tried, d.actions AS actions
ORDER BY d.at DESC
LIMIT 1
