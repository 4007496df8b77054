"""Recordings that are a list of steps in JSON, with files beside them."""
