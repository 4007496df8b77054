"""Live sources to a crash-safe journal to episodes: clocks, triggers, health."""
