"""Signals as detectors see them: values over seconds, found by role and side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Recording, Signal
from corporeal.signal.track import Track
from corporeal.units import SECOND_NS

SIDES = ("left", "right")
_LEAST = 8
_ALIVE, _MOST = 0.5, 1e12


def track(recording: Recording, *names: str) -> Track | None:
    """The first of these roles that the recording has; None when there is none to use.

    Samples whose stamps do not rise and values that are no numbers are left out.
    """
    for name in names:
        label = recording.named(name)
        if label is not None and (found := _track(label, recording.signals[label])) is not None:
            return found
    return None


def sided(recording: Recording, *names: str) -> Iterator[tuple[str, Track]]:
    """The track of each side: names have {side} where left or right stands."""
    for side in SIDES:
        found = track(recording, *(name.format(side=side) for name in names))
        if found is not None:
            yield side, found


def _track(label: str, signal: Signal) -> Track | None:
    if signal.spec.kind != "array" or len(signal) < _LEAST:
        return None
    values = np.asarray(signal[:], np.float64).reshape(len(signal), -1)
    finite = np.isfinite(values)
    # A dead taxel must not silence the whole pad.
    alive = finite.mean(axis=0) >= _ALIVE
    good = _rising(signal.time_ns) & finite[:, alive].all(axis=1)
    if not alive.any() or good.sum() < _LEAST:
        return None
    whole = Track(label, signal.spec, signal.time_ns, values)
    columns = tuple(np.array(whole.names)[alive].tolist())
    kept = np.clip(values[np.ix_(good, alive)], -_MOST, _MOST)
    return Track(label, signal.spec, signal.time_ns[good], kept, columns)


def _rising(stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which stamps to keep so that they rise: the fewest are given up, before or after a leap."""
    forth = np.concatenate([[True], stamps[1:] > np.maximum.accumulate(stamps)[:-1]])
    ahead = np.minimum.accumulate(stamps[::-1])[::-1]
    back = np.concatenate([stamps[:-1] < ahead[1:], [True]])
    kept: NDArray[np.bool_] = forth if forth.sum() >= back.sum() else back
    return kept


def at_ns(time_s: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(time_s * SECOND_NS)
