"""LeRobot datasets, v2.0 to v3.0: what info.json says, where things lie, what is in them."""
