// Purpose: the first ready tasks of a plan, from the index on readyKey. No ORDER BY on purpose: both servers read a range
// of an index upwards, and the embedded one would otherwise fetch and sort all that are ready.
// Parameters: $from, $to (bounds of readyKey), $keys (null: any), $limit. Columns: id, readyKey.
MATCH (t:Task)
WHERE t.readyKey >= $from AND t.readyKey < $to AND ($keys IS NULL OR t.key IN $keys)
RETURN t.id AS id, t.readyKey AS readyKey LIMIT $limit
