// Purpose: the first ready tasks of a plan, in plan order, by the index on readyKey.
// Parameters: $from, $to (bounds of readyKey), $keys (null: any), $limit. Columns: id.
MATCH (t:Task)
WHERE t.readyKey >= $from AND t.readyKey < $to AND ($keys IS NULL OR t.key IN $keys)
RETURN t.id AS id ORDER BY t.readyKey LIMIT $limit
