"""When nothing moves: stretches of an episode in which state, hands and action all stand still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d, uniform_filter1d

from corporeal.errors import NotAssessed
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import runs
from corporeal.signal.track import Array, Track

# What a column may wander within the window and still count as standing, by unit.
STANDING = {"rad": 0.01, "m": 0.002}
# The same for a column whose unit says nothing, as a share of how far it goes in the episode.
SHARE = 0.02
WINDOW_S = 0.5
SMOOTH_S = 0.1
# A noisy rest: within so many windows the mean of one stays in a band so much wider, and the
# values in a band so much wider.
LONG, WIDER, NOISE = 4, 1.5, 5.0


@dataclass(frozen=True)
class Rest:
    """A stretch without motion: samples of the state's clock, and its length."""

    first: int
    stop: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Stillness:
    """Where an episode stands still, on the clock of `label`; `dead` when no value ever changes."""

    label: str
    time_s: Array
    still: NDArray[np.bool_]
    dead: bool

    @property
    def rests(self) -> tuple[Rest, ...]:
        """The stretches without motion, in order."""
        found = []
        for first, stop in runs(self.still):
            length = float(self.time_s[min(stop, len(self.time_s) - 1)] - self.time_s[first])
            found.append(Rest(first, stop, length))
        return tuple(found)

    @property
    def span_s(self) -> float:
        """Length of the episode."""
        return float(self.time_s[-1] - self.time_s[0])

    @property
    def share(self) -> float:
        """Part of the episode that stands still."""
        return float(self.still.mean()) if len(self.still) else 0.0


@once_per_subject
def stillness(subject: Subject) -> Stillness:
    """Where state, grippers and action stand still together; computed once for a subject."""
    state = subject.track(*roles.MEASURED)
    if len(state) < 3 or not state.values.shape[1] or state.period_s <= 0:
        raise NotAssessed(f"{state.label} has {len(state)} samples")
    still = _standing(state)
    dead = not _varies(state)
    for track in _others(subject):
        if len(track) < 3 or track.period_s <= 0:
            continue
        quiet = _standing(track)
        # On the state's clock: the sample of the other stream that is nearest before.
        place = np.searchsorted(track.time_ns, state.time_ns, side="right") - 1
        still = still & quiet[np.clip(place, 0, len(track) - 1)]
        dead = dead and not _varies(track)
    return Stillness(state.label, state.seconds, still, dead)


def _others(subject: Subject) -> list[Track]:
    found = list(subject.ending_in(roles.GRIPPER).values())
    try:
        return [*found, subject.action]
    except NotAssessed:
        return found


def _varies(track: Track) -> bool:
    return bool((np.ptp(bridge_gaps(track.values), axis=0) > 0).any())


def _standing(track: Track) -> NDArray[np.bool_]:
    """Samples in the middle of a window in which no column leaves a narrow band."""
    values = bridge_gaps(track.values)
    width = max(3, round(WINDOW_S / track.period_s))
    if len(values) < width:
        return np.zeros(len(values), bool)
    smooth = uniform_filter1d(values, max(1, round(SMOOTH_S / track.period_s)), axis=0)
    spread = maximum_filter1d(smooth, width, axis=0) - minimum_filter1d(smooth, width, axis=0)
    bands = _bands(track, smooth)
    quiet = (spread < bands).all(axis=1)
    # A window is still as a whole: so are the samples at its ends.
    grown: NDArray[np.bool_] = maximum_filter1d(quiet.astype(np.uint8), width).astype(bool)
    return grown | _trembling(values, spread, bands, width)


def _trembling(values: Array, spread: Array, bands: Array, width: int) -> NDArray[np.bool_]:
    """Samples of long windows in which noise hides that no column goes anywhere."""
    long = LONG * width
    if len(values) < long:
        return np.zeros(len(values), bool)
    mean = uniform_filter1d(values, width, axis=0)
    drift = maximum_filter1d(mean, long, axis=0) - minimum_filter1d(mean, long, axis=0)
    quiet = ((drift < WIDER * bands) & (spread < NOISE * bands)).all(axis=1)
    grown: NDArray[np.bool_] = maximum_filter1d(quiet.astype(np.uint8), long).astype(bool)
    return grown


def _bands(track: Track, values: Array) -> Array:
    reach = np.percentile(values, 99, axis=0) - np.percentile(values, 1, axis=0)
    scale = np.maximum(reach, 0.3 * reach.max(initial=0.0))
    relative = np.maximum(SHARE * scale, 1e-9)
    return np.array(
        [STANDING.get(unit, float(own)) for unit, own in zip(track.units, relative, strict=True)]
    )
