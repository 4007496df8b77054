"""Episode files on their way into a workspace."""
