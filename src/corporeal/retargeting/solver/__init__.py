"""One least-squares solve over all frames of a clip, and its efforts kept within the motors."""
