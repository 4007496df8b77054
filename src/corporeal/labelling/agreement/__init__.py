"""How far annotators agree, over all pairs of the catalogue."""
