"""What a robot is: joints, limits, links, frames, collision shapes, and the kinematics of it."""
