"""Sensors that tremble by nature never stand quite still."""

import math

import numpy as np

from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.episode.recording import Signal
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import longest_repeats
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS
from corporeal.words import some_of

MIN_SAMPLES = 20
# Only what a sensor measures trembles; commands, words and switches stand by nature.
ONE_BY_ONE = (roles.JOINT_VELOCITY, roles.JOINT_TORQUE, roles.IMU, roles.WRENCH, roles.BASE_POSE)


def find(
    subject: Subject, *, min_samples: int = 10, min_s: float = 0.1, improbable: float = 1e-12
) -> Findings:
    """Yield runs of exactly equal samples that the sensor's noise makes `improbable`.

    The share of repeats outside the run says how often two neighbours are equal by chance. All
    columns at once are judged for every sensor, single columns for those that always tremble.

    Why: a driver that repeats its last value hides that the sensor is dead.
    Fix: reject the frames; look at the cable, the bus and the driver's time-out.
    """
    # Joints that need not move are at rest to the last bit there.
    if subject.recording.facts.mode == RETARGETED_MOCAP:
        raise NotAssessed("the motion was computed from a person's: no sensor trembles in it")
    looked = 0
    for label, signal in subject.recording.signals.items():
        if signal.spec.kind != "array" or signal.spec.group == "actions":
            continue
        track = subject.understood.get(label)
        if track is None and len(signal.spec.shape) < 2:
            continue
        if track is None:
            track = _flat(label, signal)
        if len(track) < MIN_SAMPLES or not track.values.shape[1]:
            continue
        looked += 1
        least = max(min_samples, round(min_s / track.period_s)) if track.period_s else min_samples
        found = _whole(track, least, improbable)
        if found is None and track.spec.name.endswith(ONE_BY_ONE):
            found = _single(track, 2 * least, improbable)
        if found is not None:
            yield found
    if not looked:
        raise NotAssessed("no sensor stream that is long enough")


def _flat(label: str, signal: Signal) -> Track:
    """A stream of maps as a track of one number: their weighted sum, which trembles as they do."""
    values = np.asarray(signal[:], np.float64)
    rows = values.reshape(len(values), math.prod(values.shape[1:]))
    mixed = rows @ np.linspace(1.0, 2.0, rows.shape[1])
    return Track(label, signal.spec, np.asarray(signal.time_ns), mixed[:, None])


def _whole(track: Track, least: int, improbable: float) -> Finding | None:
    """The longest run in which no column changes, where some column else does."""
    if len(track) < 2:
        return None
    change = (track.values[1:] != track.values[:-1]).any(axis=1)
    if not change.any():
        return _finding(track, 0, len(track), (), least) if _trembles(track) else None
    stamps = np.concatenate(([0], np.cumsum(change))).astype(np.float64)[:, None]
    start, length = longest_repeats(stamps)
    first, count = int(start[0]), int(length[0])
    if count < least or _chance(stamps, first, count) > improbable:
        return None
    return _finding(track, first, first + count, (), least)


def _trembles(track: Track) -> bool:
    """Whether a stream of this kind is never still: an inertial unit, a torque, a velocity."""
    return track.spec.name.endswith(ONE_BY_ONE) and len(track) > 50


def _single(track: Track, least: int, improbable: float) -> Finding | None:
    """Columns that stand while the others of the same sensor tremble."""
    start, length = longest_repeats(track.values)
    stuck = [
        column
        for column in np.flatnonzero(length >= least).tolist()
        if _chance(track.values[:, [column]], int(start[column]), int(length[column])) < improbable
    ]
    if not stuck:
        return None
    first = int(min(start[column] for column in stuck))
    stop = int(max(start[column] + length[column] for column in stuck))
    return _finding(track, first, stop, tuple(stuck), least)


def _chance(values: Array, start: int, count: int) -> float:
    """Probability of the run, with repeats as frequent as elsewhere in the column."""
    same = values[1:, 0] == values[:-1, 0]
    outside = np.ones(len(same), bool)
    outside[start : start + count - 1] = False
    share = (np.count_nonzero(same[outside]) + 1) / (np.count_nonzero(outside) + 2)
    return float(min(1.0, len(values) * share ** (count - 1)))


def _finding(track: Track, first: int, stop: int, columns: tuple[int, ...], least: int) -> Finding:
    seconds = (track.time_ns[stop - 1] - track.time_ns[first]) / SECOND_NS
    what = f"{some_of([track.names[c] for c in columns])} of {track.label}" if columns else None
    shown = list(columns[:6]) or list(range(min(3, track.values.shape[1])))
    return Finding(
        f"{what or track.label} repeats exactly the same value for {seconds:.2f} s from "
        f"{track.seconds[first]:.2f} s ({stop - first} samples)",
        stream=track.label,
        frames=((first, stop),),
        value=float(stop - first),
        limit=float(least),
        evidence=drawn(track, first, stop, shown),
    )


CHECK = Check(find, topic="joints", severity="fail", unit="samples", formerly=("frozen_signal",))
