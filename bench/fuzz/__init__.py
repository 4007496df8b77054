"""Damaged files by the thousand."""
