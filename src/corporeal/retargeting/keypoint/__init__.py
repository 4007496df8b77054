"""Points that a model estimated, and the body of SMPL."""
