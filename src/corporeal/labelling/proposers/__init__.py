"""Ways to propose an annotation, one file each."""
