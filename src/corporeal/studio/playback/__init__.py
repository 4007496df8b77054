"""Pictures and files of episodes on their way to the browser."""
