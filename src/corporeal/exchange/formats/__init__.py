"""Formats, one file each."""
