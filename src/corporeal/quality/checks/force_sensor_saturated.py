"""Force sensors are not driven to the end of their range."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array, Track
from corporeal.words import some_of

# Steps of the resolution; a curve's own top is left by one or two.
STRIDE = 4.0
ROLES = (roles.WRENCH, roles.IMU, roles.JOINT_TORQUE, roles.TACTILE)


def find(
    subject: Subject, *, min_samples: int = 8, min_pile: float = 2.5, min_levels: int = 20
) -> Findings:
    """Yield sensors whose samples pile up at their own least or greatest value.

    Values get rarer towards both ends of what a sensor feels. At least `min_samples` exactly at
    an end, and `min_pile` times as many as at the values next to it, were cut off there, if the
    values come to that end and leave it in strides: the gentle top of a curve is no cut. A sensor
    that only ever shows fewer than `min_levels` values is too quiet to tell.

    Why: the peak that was cut off is the moment that mattered.
    Fix: use a sensor of wider range, or drop the frames.
    """
    tracks = [track for track in subject.tracks.values() if track.spec.name.endswith(ROLES)]
    tracks = [track for track in tracks if len(track) >= 4 * min_samples]
    if not tracks:
        raise NotAssessed("no sensor of forces or accelerations")
    for track in tracks:
        held = _held(track.values, min_samples, min_pile, min_levels)
        if held.any():
            yield _finding(track, held)


def _held(values: Array, min_samples: int, min_pile: float, min_levels: int) -> Flags:
    """Samples (T, D) that are cut off."""
    held = np.zeros(values.shape, bool)
    finite = np.isfinite(values)
    ends = [
        np.where(finite, values, np.inf).min(axis=0),
        np.where(finite, values, -np.inf).max(axis=0),
    ]
    for side, end in enumerate(ends):
        at_end = values == end
        # Cheap first: most columns touch their end once. Zero is a rest, not a range.
        many = (np.count_nonzero(at_end, axis=0) >= min_samples) & (end != 0)
        for column in np.flatnonzero(many):
            levels, counts = np.unique(values[finite[:, column], column], return_counts=True)
            if side:
                counts = counts[::-1]
            piled = len(levels) >= min_levels and counts[0] >= min_pile * counts[1:5].max()
            if piled and _abrupt(values[:, column], at_end[:, column], np.diff(levels).min()):
                held[:, column] |= at_end[:, column]
    return held


def _abrupt(values: Array, at_end: Flags, resolution: float) -> bool:
    """Whether the steps onto the end and off it are strides of the sensor's resolution."""
    edges = np.flatnonzero(at_end[1:] != at_end[:-1])
    steps = np.abs(values[edges + 1] - values[edges])
    steps = steps[np.isfinite(steps)]
    return bool(len(steps)) and float(np.median(steps)) > STRIDE * resolution


def _finding(track: Track, held: Flags) -> Finding:
    columns = np.flatnonzero(held.any(axis=0))
    names = [track.names[column] for column in columns]
    column = int(columns[0])
    first, stop = runs(held[:, column])[0]
    level = float(track.values[first, column])
    return Finding(
        f"{some_of(names)} of {track.label} is cut off at {level:.4g} {track.units[column]} for "
        f"{np.count_nonzero(held[:, column])} samples, first at {track.seconds[first]:.3f} s.",
        stream=track.label,
        frames=runs(held.any(axis=1)),
        value=level,
        limit=float(np.nanmax(np.abs(track.values[:, column]))),
        evidence=drawn(track, first, stop, [column]),
    )


CHECK = Check(find, topic="dynamics", severity="quarantine", formerly=("force_saturation",))
