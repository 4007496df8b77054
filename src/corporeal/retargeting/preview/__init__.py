"""Person and robot side by side, to be looked at: a movie, a scene for Rerun, one picture."""
