"""Signals on their way to a plot: searched, thinned, kept at hand."""
