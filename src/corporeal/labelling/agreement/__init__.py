"""How far two annotations of one episode agree."""
