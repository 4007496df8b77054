"""What two robots do not agree on, in words."""
