"""The stamps that boundaries lie on, small enough to be kept with every task."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.catalog.store import Store, open_remote
from corporeal.episode.recording import recording_of
from corporeal.labelling.reference import reference_stream

_ASSUMED_HZ = 30.0


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
    steps = np.frombuffer(zlib.decompress(base64.b64decode(values["packed"])), "<i8")
    return Frames(str(values["stream"]), np.cumsum(steps, dtype=np.int64))


def read_frames(store: Store, digest: str) -> Frames | None:
    """The frames of a stored episode; None where nothing in it can be counted by."""
    with open_remote(store, digest) as episode:
        recording = recording_of(episode)
        stream = reference_stream(recording)
        if stream is None:
            return None
        return Frames(stream, np.asarray(recording.signals[stream].time_ns, np.int64))


def assumed_stamps(duration_s: float | None) -> NDArray[np.int64]:
    """Thirty frames a second, to compare by where nobody noted the real ones."""
    count = max(2, round((duration_s or 1.0) * _ASSUMED_HZ) + 1)
    return np.round(np.arange(count) * (1e9 / _ASSUMED_HZ)).astype(np.int64)
