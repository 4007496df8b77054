"""Ways for alerts to reach people, one file each."""
