"""The frames that people count by: which stream they are of, and boundaries that lie on them."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.catalog.store import Store, open_remote
from corporeal.episode.recording import Recording, recording_of
from corporeal.errors import CorporealError
from corporeal.signal.grid import MOST_STEPS

_NO_CAMERA_HZ, _ASSUMED_HZ = 60.0, 30.0
# Stamps of ten hours at 200 pictures a second.
_MOST_BYTES = 64 << 20


def reference_stream(recording: Recording) -> str | None:
    """The first camera of the robot, else any camera, else the signal nearest below 60 Hz."""
    cameras = [
        (signal.spec.placement != "robot", signal.spec.group == "debug", label)
        for label, signal in recording.signals.items()
        if signal.spec.kind == "video" and len(signal)
    ]
    if cameras:
        return min(cameras, key=lambda each: each[:2])[2]
    rated = [
        (abs((signal.spec.rate_hz or 0.0) - _NO_CAMERA_HZ), label)
        for label, signal in recording.signals.items()
        if signal.spec.kind == "array" and len(signal) > 1 and signal.spec.rate_hz
    ]
    return min(rated)[1] if rated else None


def boundary_ns(stamps: NDArray[np.int64], time_ns: int) -> int:
    """The first frame that shows what happened at a time: the first at or after it."""
    place = int(np.searchsorted(stamps, time_ns))
    return int(stamps[min(place, len(stamps) - 1)])


def end_ns(stamps: NDArray[np.int64]) -> int:
    """Where the last frame ends: one usual period after it."""
    if len(stamps) < 2:
        return int(stamps[-1]) + 1
    return int(stamps[-1]) + max(1, int(np.median(np.diff(stamps))))


@dataclass(frozen=True)
class Frames:
    """The reference stream of an episode and when each of its frames was taken."""

    stream: str
    stamps: NDArray[np.int64]

    def to_json(self) -> dict[str, Any]:
        """Differences, compressed: an hour of frames takes less than its list of labels."""
        steps = np.diff(self.stamps, prepend=np.int64(0)).astype("<i8")
        packed = base64.b64encode(zlib.compress(steps.tobytes(), 9)).decode()
        return {"stream": self.stream, "packed": packed}


def frames_from_json(values: dict[str, Any] | None) -> Frames | None:
    """What `to_json` made; None for nothing."""
    if not values:
        return None
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(base64.b64decode(values["packed"]), _MOST_BYTES)
    if unpacker.unconsumed_tail:
        raise CorporealError(
            f"frames of {str(values['stream'])[:80]}, got over {_MOST_BYTES >> 20} MiB of stamps; "
            "expected those of one camera. The catalogue was changed by another program."
        )
    steps = np.frombuffer(raw, "<i8")
    return Frames(str(values["stream"]), np.cumsum(steps, dtype=np.int64))


def frames_in(recording: Recording) -> Frames | None:
    """The frames of a recording; None where nothing in it can be counted by."""
    stream = reference_stream(recording)
    if stream is None:
        return None
    return Frames(stream, np.array(recording.signals[stream].time_ns, np.int64))


def read_frames(store: Store, digest: str) -> Frames | None:
    """The frames of a stored episode; None where nothing in it can be counted by."""
    with open_remote(store, digest) as episode:
        return frames_in(recording_of(episode))


def assumed_stamps(duration_s: float | None) -> NDArray[np.int64]:
    """Thirty frames a second, to compare by where nobody noted the real ones."""
    count = min(max(2, round((duration_s or 1.0) * _ASSUMED_HZ) + 1), MOST_STEPS)
    return np.round(np.arange(count) * (1e9 / _ASSUMED_HZ)).astype(np.int64)


def frame_of(stamps: NDArray[np.int64], time_ns: int) -> int:
    """The frame nearest to a time; the end of the last frame is one further."""
    if len(stamps) < 2:
        return 0
    if time_ns > stamps[-1]:
        period = int(np.median(np.diff(stamps)))
        return len(stamps) - 1 + round((time_ns - int(stamps[-1])) / max(period, 1))
    place = int(np.searchsorted(stamps, time_ns))
    if place and time_ns - int(stamps[place - 1]) < int(stamps[place]) - time_ns:
        return place - 1
    return place
