"""What several charts draw alike."""
