"""How often a proposed boundary is right, by the event that shows it and how clear the event was.

A detector's own confidence says how clearly its event stands out, not how often a boundary at that
event is where people would put it. The table beside this file was learnt from episodes whose truth
is known (`bench/annotation/confidence.py`); docs/guides/proposals.md says how far it can be
trusted.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

import numpy as np

from corporeal.signal.track import Array

MOST = 0.99
"""Nothing that a machine proposes is certain."""
OPENING = "opening"
"""Stands for an event where a phase goes on already when the recording begins."""
ANY = "*"
"""Stands for events of which the table has too few."""


def calibrate(event: str, clearness: float) -> float:
    """The share of boundaries at such an event, this clear (0 to 1), that were right."""
    table = _table()
    known, shares = table.get(event, table[ANY])
    return min(round(float(np.interp(clearness, known, shares)), 3), MOST)


@cache
def _table() -> dict[str, tuple[Array, Array]]:
    """For each event, the clearness at which shares were measured, and those shares."""
    text = resources.files(__package__).joinpath("confidence.json").read_text("utf-8")
    return {
        name: (np.array([row["clearness"] for row in rows]),
               np.array([row["share"] for row in rows]))
        for name, rows in json.loads(text)["events"].items()
    }  # fmt: skip
