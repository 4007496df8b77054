"""An episode as a scene for the Rerun viewer: the robot in 3D, its cameras, its plots."""
