"""Who else turns human motion into a robot's, run here or measured from published results."""
