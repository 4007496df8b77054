"""Releases: immutable, versioned sets of episodes that people train on."""
