"""Columns of numbers: holes bridged, words for their names, noise and exact repeats."""

from __future__ import annotations

from collections.abc import Sequence

from corporeal.quality.finding import MAX_EVIDENCE
from corporeal.signal.track import Array, Track


def thinned(track: Track, first: int, stop: int, columns: Sequence[int]) -> dict[str, Array]:
    """Evidence to draw: the columns between two samples, with the time, at most 400 values each."""
    step = max(1, -(-(stop - first) // (MAX_EVIDENCE // 2)))
    window = slice(first, stop, step)
    curves = {track.names[column]: track.values[window, column] for column in columns}
    return {"time_s": track.seconds[window], **curves}


def around(track: Track, first: int, stop: int, *, margin: int = 60) -> tuple[int, int]:
    """The samples from somewhat before to somewhat after, for a drawing."""
    return max(0, first - margin), min(len(track), stop + margin)
