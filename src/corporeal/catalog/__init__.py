"""One place that knows every episode, what happened to it, and what it became."""
