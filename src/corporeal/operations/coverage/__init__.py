"""Which combinations have been recorded, and which are missing."""
