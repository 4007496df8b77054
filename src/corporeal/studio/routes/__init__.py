"""What Studio answers to, one file per subject."""
