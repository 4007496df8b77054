"""Faults of stamps, rates and clocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.detection.editing import (
    ACTION,
    STATE,
    Times,
    cameras_of,
    film,
    keep,
    label_of,
    moving_joints,
    moving_span,
    on_clock_of,
    pictures_of,
    put,
    rate_of,
    shifted,
    span,
    values_of,
)
from bench.detection.fault import Fault, NotApplicable, Spans, Truth, fault
from corporeal.episode.recording import Recording, VideoFile
from corporeal.units import SECOND_NS

Rng = np.random.Generator


def _sampled(recording: Recording, rng: Rng) -> str:
    """A stream of numbers with a rate: in a table the state, whose clock is everyone's."""
    if recording.regridded:
        return label_of(recording, *STATE)
    labels = [
        label
        for label, signal in recording.signals.items()
        if signal.spec.kind == "array" and signal.spec.rate_hz and len(signal) > 100
        and not label.startswith("debug/object")
    ]  # fmt: skip
    if not labels:
        raise NotApplicable("no sampled stream")
    return str(rng.choice(sorted(labels)))


def _restamped(recording: Recording, label: str, stamps: Times) -> Recording:
    for each in on_clock_of(recording, label):
        recording = put(recording, each, time_ns=stamps)
    return replace(recording, regridded=False)


def _spot(places: np.ndarray) -> Spans:
    return tuple((int(place), int(place) + 1) for place in np.atleast_1d(places))


@fault({"stamps_not_increasing"}, strengths=(1, 3), unit="places")
def reversed_stamp(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """A stamp lies before the one in front of it."""
    label = _sampled(recording, rng)
    stamps = np.array(recording.signals[label].time_ns)
    places = rng.choice(np.arange(20, len(stamps) - 20, 7), int(strength), replace=False)
    stamps[places], stamps[places + 1] = stamps[places + 1], stamps[places].copy()
    mates = tuple(on_clock_of(recording, label))
    return _restamped(recording, label, stamps), Truth(mates, _spot(places + 1))


@fault(
    {"stamps_not_increasing", "stamps_in_bursts", "clock_drifts"}, strengths=(1, 5), unit="places"
)
def repeated_stamp(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """Two samples bear the same stamp."""
    label = _sampled(recording, rng)
    stamps = np.array(recording.signals[label].time_ns)
    places = rng.choice(np.arange(20, len(stamps) - 20, 7), int(strength), replace=False)
    stamps[places + 1] = stamps[places]
    mates = tuple(on_clock_of(recording, label))
    return _restamped(recording, label, stamps), Truth(mates, _spot(places + 1))


@fault(
    {"gap_in_stream", "samples_missing"}, strengths=(0.03, 0.06, 0.2, 1.0), tolerance=0.06, unit="s"
)
def gap(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """Samples are lost in a row, the stamps tell (more than 50 ms must fail)."""
    label = _sampled(recording, rng)
    mates = on_clock_of(recording, label)
    stamps = np.asarray(recording.signals[label].time_ns)
    lost = int(np.ceil(strength * rate_of(stamps)))
    where = span(rng, len(stamps), lost)
    mask = np.ones(len(stamps), bool)
    mask[where] = False
    for each in mates:
        recording = keep(recording, each, mask)
    at = where.start
    return replace(recording, regridded=False), Truth(tuple(mates), ((at - 1, at + 1),))


@fault(
    {"samples_missing", "gap_in_stream", "sampling_uneven", "rate_misstated"},
    strengths=(0.01, 0.03, 0.1),
    tolerance=0.03,
    unit="share",
)
def scattered_drops(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """Single samples are lost here and there (more than 2 % must fail)."""
    label = _sampled(recording, rng)
    mates = on_clock_of(recording, label)
    count = len(recording.signals[label])
    mask = np.ones(count, bool)
    lost = max(1, round(strength * count))
    mask[rng.choice(np.arange(1, count - 1), lost, replace=False)] = False
    for each in mates:
        recording = keep(recording, each, mask)
    return replace(recording, regridded=False), Truth(tuple(mates))


@fault(
    {"rate_misstated", "samples_missing", "sampling_uneven", "metadata_wrong"},
    strengths=(0.03, 0.1, 0.5),
    tolerance=0.1,
    unit="share",
)
def wrong_rate(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """The samples come more slowly than the schema says; nothing is lost."""
    label = _sampled(recording, rng)
    stamps = np.asarray(recording.signals[label].time_ns)
    slow = np.rint(stamps[0] + (stamps - stamps[0]) * (1 + strength)).astype(np.int64)
    mates = tuple(on_clock_of(recording, label))
    if not recording.regridded:
        # The stream stops with the others: it has fewer samples, not more time.
        mask = slow <= stamps[-1]
        recording = keep(put(recording, label, time_ns=slow), label, mask)
        return recording, Truth(mates)
    return _restamped(recording, label, slow), Truth(mates)


@fault(
    {"sampling_uneven", "gap_in_stream", "stamps_not_increasing", "stamps_in_bursts"},
    strengths=(0.1, 0.3, 0.6),
    tolerance=0.3,
    unit="of a period",
)
def jitter(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """The stamps of a stream tremble around their times."""
    label = _sampled(recording, rng)
    stamps = np.asarray(recording.signals[label].time_ns)
    noise = rng.normal(0, strength / 2, len(stamps)) * SECOND_NS / rate_of(stamps)
    trembling = np.sort(np.rint(stamps + noise).astype(np.int64))
    mates = tuple(on_clock_of(recording, label))
    return _restamped(recording, label, trembling), Truth(mates)


@fault({"stamps_in_bursts", "sampling_uneven", "gap_in_stream"}, strengths=(5, 20), unit="samples")
def bursts(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """Samples are stamped when a buffer is emptied: many at once, then none for a while."""
    label = _sampled(recording, rng)
    stamps = np.array(recording.signals[label].time_ns)
    size = int(strength)
    end = np.minimum((np.arange(len(stamps)) // size + 1) * size - 1, len(stamps) - 1)
    small = SECOND_NS // 20_000
    back = (end - np.arange(len(stamps))) * small
    mates = tuple(on_clock_of(recording, label))
    return _restamped(recording, label, stamps[end] - back), Truth(mates)


@fault(
    {"frames_dropped", "joint_jumps", "joint_too_fast", "signal_spikes", "gap_in_stream"},
    strengths=(2, 5, 10),
    tolerance=5,
    unit="frames",
    data={"table", "g1", "gr1"},
)
def hidden_drops(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """Frames were lost while the robot moved, and the rest was numbered without a gap."""
    label = label_of(recording, *STATE)
    values = values_of(recording, label)
    where = moving_span(rng, values, int(strength), share=0.6)
    mask = np.ones(len(values), bool)
    mask[where] = False
    count = int(mask.sum())
    mates = on_clock_of(recording, label)
    grid = np.asarray(recording.signals[label].time_ns)[:count]
    for each in mates:
        recording = put(keep(recording, each, mask), each, time_ns=grid)
    arrays = tuple(each for each in mates if recording.signals[each].spec.kind == "array")
    return recording, Truth((*arrays, *mates), ((where.start - 1, where.start + 1),))


@fault(
    {"frames_dropped", "signal_frozen", "joint_trembles", "sampling_uneven", "samples_missing"},
    strengths=(0.1, 0.3, 0.5),
    tolerance=0.3,
    unit="share",
)
def stuttering(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """The reader was too slow: many samples repeat the one before, whole rows at a time."""
    label = label_of(recording, *STATE)
    count = len(recording.signals[label])
    held = rng.random(count) < strength
    held[0] = False
    source = np.maximum.accumulate(np.where(held, 0, np.arange(count)))
    touched = [label]
    if not recording.regridded:
        touched += [each for each in (recording.named("joint_velocity"),) if each]
    for each in touched:
        values = values_of(recording, each)
        rows = np.minimum(np.arange(len(values)), count - 1)
        recording = put(recording, each, values[np.minimum(source[rows], len(values) - 1)])
    return recording, Truth(tuple(touched))


@fault(
    {"clock_drifts", "lag_drifts", "rate_misstated", "streams_out_of_sync",
     "imu_late"},
    strengths=(500, 2000, 5000),
    tolerance=2000,
    unit="ppm",
    data={"episode", "walk"},
)  # fmt: skip
def clock_drift(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """An IMU's clock runs fast: its stamps creep away from the robot's."""
    label = _imu(recording, rng)
    moving_joints(recording, label_of(recording, *STATE))
    stamps = np.asarray(recording.signals[label].time_ns)
    crept = np.rint(stamps[0] + (stamps - stamps[0]) * (1 + strength * 1e-6)).astype(np.int64)
    return put(recording, label, time_ns=crept), Truth((label,))


def _imu(recording: Recording, rng: Rng) -> str:
    labels = [each for each in recording.signals if each.endswith("pelvis_imu")]
    if not labels:
        raise NotApplicable("no IMU")
    return str(rng.choice(labels))


@fault(
    {"imu_late", "streams_out_of_sync"},
    strengths=(0.01, 0.02, 0.05),
    tolerance=0.02,
    unit="s",
    data={"episode", "walk"},
)
def late_imu(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """What the pelvis IMU feels comes after the motion that caused it."""
    label = _imu(recording, rng)
    moving_joints(recording, label_of(recording, *STATE))
    stamps = np.asarray(recording.signals[label].time_ns) + round(strength * SECOND_NS)
    return put(recording, label, time_ns=stamps), Truth((label,))


@fault(
    {"force_late", "streams_out_of_sync"},
    strengths=(0.02, 0.05, 0.1),
    tolerance=0.05,
    unit="s",
    data={"episode", "walk"},
)
def late_force(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """The ankles' force sensors lag behind the motion."""
    del rng
    touched = [each for each in recording.signals if each.endswith("_ankle_wrench")]
    if not touched:
        raise NotApplicable("no ankle wrench")
    moving_joints(recording, label_of(recording, *STATE))
    for label in touched:
        stamps = np.asarray(recording.signals[label].time_ns) + round(strength * SECOND_NS)
        recording = put(recording, label, time_ns=stamps)
    return recording, Truth(tuple(touched))


@fault(
    {"velocity_late", "streams_out_of_sync", "velocity_mismatch"},
    strengths=(0.01, 0.02, 0.05),
    tolerance=0.02,
    unit="s",
)
def late_velocity(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """Joint velocities come after the positions that they belong to."""
    del rng
    label = label_of(recording, "joint_velocity")
    moving_joints(recording, label_of(recording, *STATE))
    stamps = np.asarray(recording.signals[label].time_ns) + round(strength * SECOND_NS)
    return put(recording, label, time_ns=stamps), Truth((label, label_of(recording, *STATE)))


_ACTION_LAG = {"action_late", "lag_unusual", "streams_out_of_sync"}


def _moved_action(recording: Recording, delay_s: float) -> tuple[Recording, Truth]:
    label, state = label_of(recording, *ACTION), label_of(recording, *STATE)
    moving_joints(recording, state, inside=False)
    stamps = np.asarray(recording.signals[label].time_ns)
    if recording.regridded:
        values = shifted(values_of(recording, label), round(delay_s * rate_of(stamps)))
        return put(recording, label, values), Truth((label, state))
    later = stamps + round(delay_s * SECOND_NS)
    return put(recording, label, time_ns=later), Truth((label, state))


@fault(_ACTION_LAG, strengths=(0.05, 0.1, 0.2, 0.4), tolerance=0.1, unit="s")
def late_action(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """Commands are stamped after the motion that they caused."""
    del rng
    return _moved_action(recording, strength)


@fault(_ACTION_LAG, strengths=(0.1, 0.2, 0.4), tolerance=0.2, unit="s")
def early_action(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """Commands are stamped long before the motion that they caused."""
    del rng
    return _moved_action(recording, -strength)


_CAMERA_LAG = {"camera_late", "streams_out_of_sync", "lag_drifts", "lag_unusual"}


def _camera(recording: Recording, rng: Rng) -> str:
    return str(rng.choice(sorted(cameras_of(recording))))


@fault(_CAMERA_LAG, strengths=(0.034, 0.067, 0.134, 0.3), tolerance=0.134, unit="s", pictures=True)
def late_camera(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """A camera shows what was a moment ago."""
    label = _camera(recording, rng)
    footage = cameras_of(recording)[label]
    if not recording.regridded:
        stamps = footage.time_ns + round(strength * SECOND_NS)
        return put(recording, label, time_ns=stamps), Truth((label,))
    steps = max(1, round(strength * rate_of(footage.time_ns)))
    pictures = pictures_of(footage)
    source = np.maximum(np.arange(len(pictures)) - steps, 0)
    new = film(footage, pictures[source])
    return replace(recording, signals={**recording.signals, label: new}), Truth((label,))


@fault(_CAMERA_LAG, strengths=(0.134, 0.3), tolerance=0.3, unit="s at the end", pictures=True)
def camera_drift(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """A camera falls behind more and more."""
    label = _camera(recording, rng)
    footage = cameras_of(recording)[label]
    share = strength * SECOND_NS / float(footage.time_ns[-1] - footage.time_ns[0])
    if not recording.regridded:
        begin = footage.time_ns[0]
        stamps = np.rint(begin + (footage.time_ns - begin) * (1 + share)).astype(np.int64)
        return put(recording, label, time_ns=stamps), Truth((label,))
    pictures = pictures_of(footage)
    source = np.floor(np.arange(len(pictures)) * (1 - share)).astype(int)
    new = film(footage, pictures[source])
    return replace(recording, signals={**recording.signals, label: new}), Truth((label,))


@fault(
    {
        "samples_missing",
        "streams_out_of_sync",
        "gap_in_stream",
        "footage_incomplete",
        "rate_misstated",
    },
    strengths=(0.2, 1.0, 3.0),
    tolerance=1.0,
    unit="s",
)
def ends_early(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """One stream stops before the others do."""
    if recording.regridded:
        raise NotApplicable("a table has one clock")
    label = _sampled(recording, rng)
    stamps = np.asarray(recording.signals[label].time_ns)
    mask = stamps <= stamps[-1] - strength * SECOND_NS
    kept = int(mask.sum())
    if isinstance(recording.signals[label], VideoFile) or kept < 10:
        raise NotApplicable("too short")
    return keep(recording, label, mask), Truth((label,), ((kept - 1, kept),))


FAULTS: tuple[Fault, ...] = (
    reversed_stamp, repeated_stamp, gap, scattered_drops, wrong_rate, jitter, bursts, hidden_drops,
    stuttering, clock_drift, late_imu, late_force, late_velocity, late_action, early_action,
    late_camera, camera_drift, ends_early,
)  # fmt: skip
