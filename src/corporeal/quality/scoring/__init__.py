"""Scores: parts measured, weighed, and compared across demonstrations."""
