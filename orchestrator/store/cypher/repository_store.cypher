// Purpose: create or refresh a repository.
// Parameters: $repository (properties).
MERGE (r:Repository {id: $repository.id}) SET r += $repository
