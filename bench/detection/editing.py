"""Small changes to a recording in memory, on which the faults are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from bench.detection.fault import NotApplicable
from corporeal.episode.recording import ArraySignal, Recording, Signal, VideoFile
from corporeal.units import SECOND_NS

Array = NDArray[np.float64]
Times = NDArray[np.int64]
Pictures = NDArray[np.uint8]

STATE = ("joint_position", "state")
ACTION = ("joint_position_target", "action")
# Joint streams that a wrong joint convention changes together.
JOINT_STREAMS = ("joint_position", "joint_velocity", "joint_torque", "joint_position_target")
# Less than this and a joint has not moved enough for its motion to say anything.
MOVES_RAD = 0.15


def label_of(recording: Recording, *roles: str) -> str:
    """Label of the first stream in one of these roles."""
    for role in roles:
        label = recording.named(role)
        if label is not None and len(recording.signals[label]):
            return label
    raise NotApplicable(f"no {' or '.join(roles)}")


def values_of(recording: Recording, label: str) -> Array:
    """A copy of the numbers of a stream, (T, D)."""
    values = np.array(recording.signals[label][:], np.float64)
    return values.reshape(len(values), -1)


def put(
    recording: Recording, label: str, values: Any = None, time_ns: Times | None = None
) -> Recording:
    """The recording with other numbers or other stamps in one stream.

    What the source claims of the stream is taken away: it would give the change away.
    """
    old = recording.signals[label]
    stamps = np.array(old.time_ns if time_ns is None else time_ns, np.int64)
    if isinstance(old, VideoFile):
        new: Signal = replace(old, time_ns=stamps)
    else:
        new = ArraySignal(old.spec, stamps, _as_stored(old, values))
    claims = {name: claim for name, claim in recording.claims.items() if name != label}
    return replace(recording, signals={**recording.signals, label: new}, claims=claims)


def _as_stored(old: Signal, values: Any) -> Any:
    if values is None:
        return old[:]
    if old.spec.kind != "array":
        return values
    sizes = tuple(size for size in old.spec.shape if isinstance(size, int))
    return np.asarray(values).astype(old.spec.dtype).reshape((len(values), *sizes))


def on_clock_of(recording: Recording, label: str) -> list[str]:
    """The streams that share this one's stamps: in a table all of them, in an episode file one."""
    if not recording.regridded:
        return [label]
    count = len(recording.signals[label])
    return [each for each, signal in recording.signals.items() if len(signal) == count]


def keep(recording: Recording, label: str, mask: NDArray[np.bool_]) -> Recording:
    """Only the samples where `mask` is true; a camera loses the pictures too."""
    signal = recording.signals[label]
    stamps = np.asarray(signal.time_ns)[mask]
    if isinstance(signal, VideoFile):
        new = film(signal, pictures_of(signal)[mask], time_ns=stamps)
        return replace(recording, signals={**recording.signals, label: new})
    samples = signal[:]
    if not isinstance(samples, np.ndarray):
        return put(recording, label, [samples[k] for k in np.flatnonzero(mask)], stamps)
    return put(recording, label, samples[mask], stamps)


def span(rng: np.random.Generator, count: int, length: int, *, margin: float = 0.2) -> slice:
    """A random run of `length` samples away from the ends."""
    length = min(length, count)
    low = int(margin * (count - length))
    high = max(low + 1, int((1 - margin) * (count - length)))
    first = int(rng.integers(low, high))
    return slice(first, first + length)


def moving_span(
    rng: np.random.Generator, values: Array, length: int, *, share: float = 0.5
) -> slice:
    """A random run of `length` samples in which there is motion worth losing."""
    length = min(length, len(values) - 2)
    travel = np.abs(np.diff(values, axis=0)).sum(axis=1)
    total = np.concatenate(([0.0], np.cumsum(travel)))
    inside = total[length:] - total[:-length]
    good = np.flatnonzero(inside >= share * inside.max())
    good = good[(good > 0) & (good + length < len(values))]
    if not len(good):
        raise NotApplicable("nothing moves")
    first = int(rng.choice(good))
    return slice(first, first + length)


def extent(values: Array) -> Array:
    """How far every column travels, without the few outermost samples."""
    low, high = np.nanpercentile(values, [0.5, 99.5], axis=0)
    return np.asarray(high - low)


def moving_joints(
    recording: Recording, label: str, *, least: float = MOVES_RAD, inside: bool = True
) -> list[int]:
    """Columns that are joints of the robot (`inside`) and travel at least so far."""
    spec = recording.signals[label].spec
    robot = recording.embodiment
    names = spec.components if isinstance(spec.components, tuple) else ()
    known = set(robot.joint_names) if robot is not None else set()
    travel = extent(values_of(recording, label))
    found = [
        column
        for column, name in enumerate(names)
        if travel[column] >= least and (not inside or name in known)
    ]
    if not found:
        raise NotApplicable("no joint moves enough")
    return found


def column_of(recording: Recording, label: str, name: str) -> int | None:
    """Where a component stands in a stream."""
    names = recording.signals[label].spec.components
    return names.index(name) if isinstance(names, tuple) and name in names else None


def names_of(recording: Recording, label: str) -> tuple[str, ...]:
    """Names of the columns."""
    names = recording.signals[label].spec.components
    if not isinstance(names, tuple):
        raise NotApplicable(f"{label} has no names")
    return names


def pictures_of(footage: VideoFile) -> Pictures:
    """Every picture (T, height, width, 3)."""
    return np.stack([frame.to_ndarray(format="rgb24") for frame in footage.frames()])


def film(footage: VideoFile, pictures: Pictures, *, time_ns: Times | None = None) -> VideoFile:
    """The camera with other pictures: encoded again, a little better than cameras do."""
    stamps = footage.time_ns if time_ns is None else time_ns
    data = encode(pictures, rate_hz=rate_of(footage.time_ns))
    return replace(
        footage, time_ns=stamps, open=lambda: BytesIO(data), first=0, count=len(pictures)
    )


def rate_of(time_ns: Times) -> float:
    """Samples per second by the median step."""
    step = float(np.median(np.diff(time_ns))) if len(time_ns) > 1 else SECOND_NS / 30
    return SECOND_NS / step if step > 0 else 30.0


def encode(pictures: Pictures, *, rate_hz: float, codec: str = "libx264") -> bytes:
    """An MP4 of the pictures at an even rate."""
    target = BytesIO()
    with av.open(target, "w", format="mp4") as container:
        options = {"crf": "20", "preset": "veryfast", "g": "15", "bf": "0", "threads": "1"}
        stream: Any = container.add_stream(
            codec, rate=Fraction(round(rate_hz * 100), 100), options=options
        )
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = "yuv420p"
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return target.getvalue()


def cameras_of(recording: Recording) -> dict[str, VideoFile]:
    """Every camera by label."""
    found = {
        label: signal
        for label, signal in recording.signals.items()
        if isinstance(signal, VideoFile)
    }
    if not found:
        raise NotApplicable("no camera")
    return found


def any_camera(recording: Recording, rng: np.random.Generator) -> str:
    """The label of one of the cameras."""
    return str(rng.choice(sorted(cameras_of(recording))))


def refilm(recording: Recording, label: str, change: Callable[[Pictures], Pictures]) -> Recording:
    """The recording after `change` of all pictures of one camera."""
    footage = cameras_of(recording)[label]
    new = film(footage, change(pictures_of(footage)))
    return replace(recording, signals={**recording.signals, label: new})


def shifted(values: Array, steps: float) -> Array:
    """The numbers `steps` samples later (negative: earlier); the ends are held."""
    at = np.clip(np.arange(len(values)) - steps, 0, len(values) - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, len(values) - 1)
    share = (at - low)[:, None]
    return np.asarray(values[low] * (1 - share) + values[high] * share)


def late(values: Array, time_ns: Times, delay_s: float) -> Array:
    """What a stream would have held had it come `delay_s` later, on the same stamps."""
    when = (time_ns - delay_s * SECOND_NS).astype(np.float64)
    known = time_ns.astype(np.float64)
    return np.stack([np.interp(when, known, column) for column in values.T], axis=1)
