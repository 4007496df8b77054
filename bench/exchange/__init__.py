"""Exports and training reads against LeRobot's own writer and loader, and TFDS."""
