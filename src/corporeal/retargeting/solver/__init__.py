"""One least-squares solve over all frames of a clip."""
