// Purpose: a plan's tasks in plan order, with their assessments.
// Parameters: $planId. Columns: task, assessment (properties).
MATCH (:Plan {id: $planId})-[:HAS_TASK]->(t:Task)
OPTIONAL MATCH (t)-[:ASSESSED_AS]->(a:Assessment)
RETURN properties(t) AS task, properties(a) AS assessment ORDER BY t.orderKey
