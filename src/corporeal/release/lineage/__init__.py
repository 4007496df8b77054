"""Where something came from, and what became of it."""
