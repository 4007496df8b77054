"""Samples that people look at, and what they prove."""
