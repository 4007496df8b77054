"""The card of a release: what is in it, for people and for machines."""
