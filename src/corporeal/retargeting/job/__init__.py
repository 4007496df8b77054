"""One clip from its file to an episode, and many at once."""
