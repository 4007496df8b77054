"""A MuJoCo humanoid that behaves like the real one."""
