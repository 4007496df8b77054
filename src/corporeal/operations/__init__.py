"""How collection is run: what people review, how much is made, what it costs."""
