"""Zarr of format 2, in and out."""
