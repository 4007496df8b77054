"""What is driven: one file per kind of robot link."""
