"""Tasks of the simulated humanoid, one file each."""
