"""The labels that count, which episodes have them, and how they come from files."""
