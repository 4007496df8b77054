"""How many planted faults the checks find and name, and how often they cry wolf."""
