"""How results look. rich is imported by the modules in here, and these only when something is shown."""
