"""Our episode file against its peers, side by side in one run: `python -m bench.episode`."""
