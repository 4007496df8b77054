"""Who may come in, with what, and what they may carry out."""
