"""Networks that follow a motion, one file per kind: how it sees the robot, how it moves it."""
