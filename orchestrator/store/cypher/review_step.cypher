// Purpose: the same as attempt_step for a review of what was accepted before, whose attempt is over: no fence, no files.
// Parameters: $ownerId, $at (ISO), $requested, $settled, $started, $finished as there.
// Columns: id (no row: there is no such review).
MATCH (owner:Review {id: $ownerId})
SET owner.lastEventAt = datetime($at)
FOREACH (row IN $requested |
  MERGE (t:Turn {id: row.id})
  SET t += row, t.startedAt = datetime(row.startedAt)
  MERGE (t)<-[:TOOK]-(owner)
)
FOREACH (row IN $settled |
  MERGE (t:Turn {id: row.id})
  SET t += row.turn, t.at = datetime(row.turn.at)
  FOREACH (call IN row.calls |
    MERGE (c:ToolCall {id: call.id})
    SET c.executed = false, c += call, c.startedAt = datetime(call.startedAt)
    MERGE (t)-[:CALLED]->(c)
  )
)
FOREACH (row IN $started |
  MERGE (c:ToolCall {id: row.id})
  SET c.status = 'running', c.startedAt = datetime(row.startedAt), c.duplicateOf = row.duplicateOf,
      c.executed = row.executed
)
FOREACH (row IN $finished |
  MERGE (c:ToolCall {id: row.id})
  SET c += row.call, c.finishedAt = datetime(row.call.finishedAt), c.executed = row.executed
)
RETURN owner.id AS id
