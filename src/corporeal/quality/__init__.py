"""Gates and scores: what is wrong with an episode or a batch, where, and what follows."""
