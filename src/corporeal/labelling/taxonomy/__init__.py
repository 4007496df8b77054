"""Taxonomies: the document, the versions that labels refer to, what a new version touches."""
