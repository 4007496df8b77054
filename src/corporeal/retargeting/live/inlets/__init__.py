"""Where live poses come from: one file per protocol."""
