"""The stream whose frames people count by, and boundaries that lie on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Recording

_NO_CAMERA_HZ = 60.0


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
