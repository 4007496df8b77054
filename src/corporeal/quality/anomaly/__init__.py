"""Detectors of segments that are unlike those of good episodes."""
