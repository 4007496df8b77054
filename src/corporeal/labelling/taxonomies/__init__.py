"""Ready taxonomies, one file each."""
