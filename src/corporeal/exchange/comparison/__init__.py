"""What was written beside what it was written from."""
