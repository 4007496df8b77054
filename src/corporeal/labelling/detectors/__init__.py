"""Detectors of physical events, one file each."""
