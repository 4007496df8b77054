"""Studio: the web application in which people see every episode, stream and verdict."""
