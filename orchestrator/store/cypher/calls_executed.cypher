// Purpose: of a graph of schema 1, tell of some calls whether they were executed, as domain/tools.py has it. Safe to repeat.
// Parameters: $executed (statuses), $batch (calls at most).
// Columns: told (how many; 0: none is left).
MATCH (c:ToolCall) WHERE c.executed IS NULL
WITH c LIMIT $batch
SET c.executed = c.status IN $executed AND c.startedAt IS NOT NULL AND NOT coalesce(c.control, false)
                 AND c.defect IS NULL AND coalesce(c.errorKind, 'none') <> 'malformed'
RETURN count(c) AS told
