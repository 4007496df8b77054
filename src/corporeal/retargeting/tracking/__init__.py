"""Whether the robot's body can do a motion: followed in MuJoCo, by a tracker or with help."""
