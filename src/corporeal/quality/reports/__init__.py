"""Reports for people and for programs, one file each."""
