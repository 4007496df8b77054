"""Labels: what they mean, where their boundaries lie, who agrees, and what a machine proposes."""
