// title: The story of an attempt
// description: Turns, tool calls, progress reports, guards and requests in the order in which they happened; of a turn that ended in another way than with calls or all said how it ended.
// param repository: id of the repository; orchestrate fills in the current one
// param attempt = "": id of the attempt; "" is the one that began last
// columns: seq, kind, what, detail, status, tokens, durationMs, ended
// In Neo4j Browser first run   :param {repository: "<id>", attempt: ""}
MATCH (:Repository {id: $repository})-[:HAS_PLAN]->(:Plan)-[:HAS_TASK]->(:Task)-[:HAS_ATTEMPT]->(a:Attempt)
WHERE $attempt = "" OR a.id = $attempt
WITH a ORDER BY a.startedAt DESC, a.id
LIMIT 1
MATCH (a)-[:TOOK|CALLED|REPORTED|TRIGGERED|REQUESTED*1..2]->(n)
WHERE n.seq IS NOT NULL
WITH DISTINCT n, head(labels(n)) AS kind
RETURN n.seq AS seq, kind,
       CASE kind
         WHEN "Turn" THEN coalesce(n.model, "")
         WHEN "ToolCall" THEN n.tool
         WHEN "GuardEvent" THEN n.guard
         WHEN "BudgetRequest" THEN n.kind
         ELSE "progress"
       END AS what,
       CASE kind
         WHEN "Turn" THEN coalesce(n.text, "")
         WHEN "ToolCall" THEN n.argumentsJson
         WHEN "Checkpoint" THEN n.description
         WHEN "BudgetRequest" THEN coalesce(n.justification, "")
         ELSE coalesce(n.reason, "")
       END AS detail,
       CASE kind
         WHEN "GuardEvent" THEN n.verdict
         WHEN "BudgetRequest" THEN CASE WHEN n.granted THEN "granted" ELSE "refused" END
         ELSE n.status
       END AS status,
       n.promptTokens + n.completionTokens AS tokens,
       coalesce(n.durationMs, n.latencyMs) AS durationMs,
       CASE WHEN n.finishReason IN ["stop", "tool_calls"] THEN null ELSE n.finishReason END AS ended
ORDER BY n.seq
