"""Figures of collection: how good, how much, at what cost."""
