"""Parts of the score, one file each."""
