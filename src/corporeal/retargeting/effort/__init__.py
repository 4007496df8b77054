"""What a motion asks of the motors, and how it is eased where that is too much."""
