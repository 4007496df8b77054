"""Labels in the catalogue: tasks, every edit, agreement, and the labels that count."""
