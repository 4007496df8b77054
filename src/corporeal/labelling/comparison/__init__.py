"""Two annotations of one episode side by side."""
