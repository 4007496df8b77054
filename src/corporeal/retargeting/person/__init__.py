"""Trees of bones: their poses, and which bone is which part of a body."""
