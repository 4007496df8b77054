"""What Studio makes of one annotation at work: its task, its frames, its comments."""
