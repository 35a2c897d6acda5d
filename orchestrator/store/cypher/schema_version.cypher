// Purpose: the version of the schema that this graph has.
// Columns: version (no row: none).
MATCH (s:OrchestrateSchema {id: 'schema'}) RETURN s.version AS version
