"""Live retargeting: a stream of poses in, joint targets out, the robot beside the person."""
