"""Where the operator's input comes from: one file per source."""
