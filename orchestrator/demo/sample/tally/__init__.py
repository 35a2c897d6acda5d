"""Small statistics over lists of numbers."""
