"""What cameras got wrong in a motion, mended."""
