"""How good a motion is, whoever made it."""
