"""The episode file: one demonstration, many streams, many clocks, one epoch."""
