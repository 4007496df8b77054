"""Import and export: every format people train from."""
