"""Runs the program with `python -m corporeal`."""

from corporeal.cli.program import main

main()
