"""The revisions of the catalogue, one file each, in the order of their numbers."""
