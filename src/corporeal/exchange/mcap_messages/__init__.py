"""An episode as messages of a log (MCAP): which type a stream becomes, its bytes, the file."""
