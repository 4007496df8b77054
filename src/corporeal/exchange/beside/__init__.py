"""What lies beside a dataset that Corporeal wrote, and episodes put together from both."""
