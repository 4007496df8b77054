"""Protocols: what one episode of a task is and how it is collected."""
