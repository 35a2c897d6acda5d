"""What the roles are told, as Markdown with {{variables}}; agents/preambles.py reads it."""
