"""Corporeal turns demonstrations of humanoid robots into training datasets people can trust."""

__version__ = "0.1.0"
