"""What Studio makes of queues, pairs and their disagreements."""
