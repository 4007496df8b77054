"""Places to run the stages of many episodes: one file each."""
