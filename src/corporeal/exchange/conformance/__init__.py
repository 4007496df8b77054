"""Exports read by the library of their own format, in a process and an environment of its own."""
