"""The rule that splits seeds, episodes and whole runs into a tuning half and a held-out half."""

from __future__ import annotations

import hashlib
from typing import Final, Literal

Half = Literal["tuning", "held-out"]
TUNING: Final = "tuning"
HELD_OUT: Final = "held-out"
HALVES: tuple[Half, Half] = (TUNING, HELD_OUT)
FIRST_SEEDS: dict[Half, int] = {TUNING: 500, HELD_OUT: 1300}
"""The first seed of the simulated episodes of each half; no seed is in both."""


def half_of_seed(seed: int) -> Half:
    """Even seeds are there to be looked at, odd ones only to be counted."""
    return HALVES[seed % 2]


def half_of_episode(source: str, episode: str) -> Half:
    """A real episode is in the half that its hash says: of its set's name and its own."""
    digest = hashlib.sha256(f"{source}/{episode}".encode()).digest()
    return HALVES[digest[0] % 2]
