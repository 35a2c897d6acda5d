"""What tools tell of tests, rules and symbols: one file a tool, lines in, what they tell out."""
