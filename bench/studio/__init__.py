"""How fast Studio is, measured in a real browser."""
