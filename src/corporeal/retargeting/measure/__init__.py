"""How good a robot's motion is, and a page that shows it."""
