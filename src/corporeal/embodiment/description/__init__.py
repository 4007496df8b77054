"""Robot descriptions (URDF, MJCF) to the embodiment document."""
