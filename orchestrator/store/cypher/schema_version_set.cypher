// Purpose: record that the schema is complete.
// Parameters: $version.
MERGE (s:OrchestrateSchema {id: 'schema'}) SET s.version = $version, s.name = 'Schema of orchestrate'
