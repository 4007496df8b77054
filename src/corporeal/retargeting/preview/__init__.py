"""Person and robot side by side, as a movie, a picture or a Rerun scene."""
