"""From a person to what a robot is to follow: size, contacts, footholds."""
