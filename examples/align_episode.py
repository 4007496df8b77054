"""Put an episode on a 50 Hz grid and print where its values are old or missing."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from corporeal import Episode


def main(path: Path) -> None:
    """Print one line for each stream."""
    with Episode.open(path) as episode:
        table = episode.align(rate_hz=50)
    print(f"{len(table)} rows, {table.complete.mean():.1%} complete")
    for name, column in table.columns.items():
        age_ms = np.abs(column.age_ns[column.valid]).max() / 1e6
        there = column.valid.mean()
        print(f"{name:34s} {column.method:8s} oldest {age_ms:7.2f} ms, valid {there:.1%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
