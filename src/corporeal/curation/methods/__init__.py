"""Ways to choose demonstrations, one file each."""
