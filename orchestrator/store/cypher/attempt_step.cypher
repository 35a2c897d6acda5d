// Purpose: the hot path. Lock and fence an attempt, then write what happened to it or to its review: turns about to be
//   made, replies with the calls that they ask for, calls about to run, results with the files that they changed.
// Parameters: $attemptId, $ownerId (the attempt's or its review's), $fence, $live (statuses), $at (ISO),
//   $requested [properties], $settled [{id, turn, calls [properties]}], $started [{id, startedAt, duplicateOf,
//   executed}], $finished [{id, call, writes [{path, name, write}], executed}]; instants are ISO strings.
// Columns: id (no row: the fence is not current).
MATCH (a:Attempt {id: $attemptId})
SET a.lastEventAt = datetime($at)
WITH a
WHERE a.fence = $fence AND a.status IN $live
OPTIONAL MATCH (v:Review {id: $ownerId})
WITH a, coalesce(v, a) AS owner
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
  FOREACH (change IN row.writes |
    MERGE (f:File {id: a.repository + ':' + change.path})
    ON CREATE SET f.path = change.path, f.name = change.name, f.repository = a.repository
    MERGE (c)-[w:WROTE]->(f)
    SET w += change.write
  )
)
RETURN a.id AS id
