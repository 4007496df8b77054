"""The figure of a robot and what stands around it."""
