"""What checks share: evidence worked out once from the signals of an episode."""
