"""How good the proposals are, and how much work they save, on episodes whose truth is known."""
