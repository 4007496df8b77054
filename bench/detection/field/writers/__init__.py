"""Takes as files: one module per format, each with a function that returns the paths to check."""
