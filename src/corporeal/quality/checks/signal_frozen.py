"""Sensors that tremble by nature never stand quite still."""

import math
from dataclasses import replace

import numpy as np

from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.episode.recording import Signal
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.imu import inertial_tracks
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import longest_repeats
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS
from corporeal.words import some_of

MIN_SAMPLES = 20
# Rows and columns of the matrix of a pose.
POSE_SIZE = 4
# Only what a sensor measures trembles; commands, words and switches stand by nature.
ONE_BY_ONE = (roles.JOINT_VELOCITY, roles.JOINT_TORQUE, roles.IMU, roles.WRENCH, roles.BASE_POSE)
# These tremble even while the robot rests; whatever else repeats itself may be at rest.
NEVER_AT_REST = (roles.IMU, roles.WRENCH, roles.TACTILE)
# Streams that show that the robot moves.
MOTION = (roles.JOINT_VELOCITY, roles.BASE_POSE, *roles.MEASURED, *roles.COMMANDED)
# A column moves when it goes through this share of its range, and so many times its noise.
MOVES, ABOVE_NOISE = 0.03, 8.0
# A command runs ahead of the motion by so much.
AHEAD_S = 0.3
# When the values come back they have leapt by so many usual steps.
LEAP = 4.0


def find(
    subject: Subject, *, min_samples: int = 10, min_s: float = 0.1, improbable: float = 1e-12
) -> Findings:
    """Yield runs of exactly equal samples that the sensor's noise makes `improbable`.

    The share of repeats outside the run says how often two neighbours are equal by chance. All
    columns at once are judged for every sensor, single columns for those that always tremble. What
    may be at rest (positions, poses, velocities, torques) counts only if the robot moved meanwhile
    by its commands or other sensors, or if the values leap when they come back. A velocity or
    torque that is 0 from beginning to end is a note: it was not delivered.

    Why: a driver that repeats its last value hides that the sensor is dead.
    Fix: reject the frames; look at the cable, the bus and the driver's time-out.
    """
    # Joints that need not move are at rest to the last bit there.
    if subject.recording.facts.mode == RETARGETED_MOCAP:
        raise NotAssessed("the motion was computed from a person's: no sensor trembles in it")
    looked = 0
    inertial = {track.label: track for track in inertial_tracks(subject)}
    for label, signal in subject.recording.signals.items():
        if signal.spec.kind != "array" or signal.spec.group == "actions":
            continue
        track = subject.understood.get(label) or inertial.get(label)
        if track is None and not _is_map(signal):
            continue
        if track is None:
            track = _flat(label, signal)
        if len(track) < MIN_SAMPLES or not track.values.shape[1] or _is_switch(track):
            continue
        looked += 1
        least = max(min_samples, round(min_s / track.period_s)) if track.period_s else min_samples
        never_at_rest = label in inertial or track.spec.name.endswith(NEVER_AT_REST)
        found = _whole(track, least, improbable, trembles=never_at_rest)
        if found is None and track.spec.name.endswith(ONE_BY_ONE):
            found = _single(track, 2 * least, improbable)
        if found is not None and not never_at_rest:
            found = _confirmed(subject, track, found)
        if found is not None:
            yield found
    if not looked:
        raise NotAssessed("no sensor stream that is long enough")


def _confirmed(subject: Subject, track: Track, found: Finding) -> Finding | None:
    """The finding if a second sign says that the robot did not simply stand."""
    ((first, stop),) = found.frames
    values = track.values[first:stop]
    columns = [
        column
        for column in range(values.shape[1])
        if (values[1:, column] == values[0, column]).all()
    ]
    if stop - first == len(track) and not track.values[:, columns].any():
        if not track.spec.name.endswith((roles.JOINT_VELOCITY, roles.JOINT_TORQUE)):
            return None
        if not _moves(subject, track, first, stop, columns):
            return None
        return replace(found, severity="note", message=f"{found.message}: 0 throughout")
    if _moves(subject, track, first, stop, columns) or _leaps(track, stop, columns):
        return found
    return None


def _moves(subject: Subject, track: Track, first: int, stop: int, columns: list[int]) -> bool:
    """Whether other streams say that what the columns measure moved in the meantime."""
    begin, end = (
        int(track.time_ns[first]),
        int(track.time_ns[stop - 1]) - round(AHEAD_S * SECOND_NS),
    )
    alone = len(columns) < track.values.shape[1]
    own = {track.names[column] for column in columns}
    for other in subject.understood.values():
        if other is track or not other.spec.name.endswith(MOTION):
            continue
        inside = slice(*np.searchsorted(other.time_ns, (begin, end)).tolist())
        shown = [n for n, name in enumerate(other.names) if not alone or name in own]
        values = other.values[inside, :][:, shown]
        if len(values) < 4 or not shown:
            continue
        whole = other.values[:, shown]
        noise = np.nanmedian(np.abs(np.diff(whole, n=2, axis=0)), axis=0)
        least = np.maximum(MOVES * np.ptp(whole, axis=0), ABOVE_NOISE * noise)
        if (np.ptp(values, axis=0) > np.maximum(least, 1e-9)).any():
            return True
    return False


def _leaps(track: Track, stop: int, columns: list[int]) -> bool:
    """Whether two columns, or the only one, come back with a leap that their motion explains."""
    if stop + 4 > len(track):
        return False
    steps = np.abs(np.diff(track.values[stop - 1 : stop + 8][:, columns], axis=0))
    after = np.median(steps[1:], axis=0)
    leapt = (after > 0) & (steps[0] > LEAP * after)
    return int(leapt.sum()) >= min(2, len(columns))


def _is_map(signal: Signal) -> bool:
    """Whether rows are maps of a sensor, not the matrix of a rotation or a pose."""
    shape = np.shape(signal[:1])[1:]
    return len(shape) > 1 and max(shape) > POSE_SIZE


def _is_switch(track: Track) -> bool:
    """Whether it only ever goes between two values: what has two positions stands by nature."""
    first = track.values[0]
    others = track.values[(track.values != first).any(axis=1)]
    return bool(len(others)) and bool((others == others[0]).all())


def _flat(label: str, signal: Signal) -> Track:
    """A stream of maps as a track of one number: their weighted sum, which trembles as they do."""
    values = np.asarray(signal[:], np.float64)
    rows = values.reshape(len(values), math.prod(values.shape[1:]))
    mixed = rows @ np.linspace(1.0, 2.0, rows.shape[1])
    return Track(label, signal.spec, np.asarray(signal.time_ns), mixed[:, None])


def _whole(track: Track, least: int, improbable: float, *, trembles: bool) -> Finding | None:
    """The longest run in which no column changes, where some column else does."""
    if len(track) < 2:
        return None
    change = (track.values[1:] != track.values[:-1]).any(axis=1)
    if not change.any():
        always = trembles or track.spec.name.endswith(ONE_BY_ONE)
        return _finding(track, 0, len(track), (), least) if always and len(track) > 50 else None
    stamps = np.concatenate(([0], np.cumsum(change))).astype(np.float64)[:, None]
    start, length = longest_repeats(stamps)
    first, count = int(start[0]), int(length[0])
    if count < least or _chance(stamps, first, count) > improbable:
        return None
    return _finding(track, first, first + count, (), least)


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


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    unit="samples",
    explains=(
        "joint_jumps",
        "joint_too_fast",
        "hand_too_fast",
    ),
    formerly=("frozen_signal",),
)
