"""Random faults in every part of the house, and what was lost: `python -m bench.faults`."""
