// Purpose: the settings under which a locked run goes on.
// Parameters: $runId, $settingsJson.
MATCH (r:Run {id: $runId}) SET r.settingsJson = $settingsJson
