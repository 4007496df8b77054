"""The built-in robots: one embodiment document each, named after its file."""
