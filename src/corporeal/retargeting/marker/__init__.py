"""Markers on skin: which is which, and where the joints under them are."""
