"""Effects in order: record, then judge, then act."""
