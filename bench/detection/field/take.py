"""A take: what one demonstration recorded, before it is written in any format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.units import SECOND_NS

Array = NDArray[np.float64]
Times = NDArray[np.int64]
Order = NDArray[np.intp]
Pictures = NDArray[np.uint8]

STATE, ACTION = "joint_position", "joint_position_target"
VELOCITY, TORQUE = "joint_velocity", "joint_torque"
IMU, BASE = "pelvis_imu", "base_pose"
# How far a joint must travel before what it does says anything.
TRAVELS_RAD = 0.25
_ENCODING: dict[str, dict[str, str]] = {
    "libx264": {"crf": "21", "preset": "veryfast", "threads": "1"},
    "libsvtav1": {"crf": "32", "preset": "10"},
    "mpeg4": {"b": "2000000"},
    "libvpx-vp9": {"crf": "34", "b": "0", "deadline": "realtime", "cpu-used": "8"},
}


class CannotPlantError(CorporealError):
    """The mistake cannot be made in these takes; the message says what they lack."""


@dataclass(frozen=True, eq=False)
class Channel:
    """Numbers over time (T, D), each column named."""

    time_ns: Times
    values: Array
    names: tuple[str, ...]

    @property
    def rate_hz(self) -> float:
        """Samples per second by the median step."""
        return SECOND_NS / float(np.median(np.diff(self.time_ns)))

    def place(self, moment_ns: float) -> int:
        """The first sample at or after a moment."""
        return int(np.searchsorted(self.time_ns, moment_ns))


@dataclass(frozen=True, eq=False)
class Film:
    """A camera's movie as a file holds it, one stamp per picture."""

    time_ns: Times
    data: bytes
    codec: str
    size: tuple[int, int]

    def pictures(self) -> Pictures:
        """Every picture (T, height, width, 3)."""
        with av.open(BytesIO(self.data), "r") as container:
            pictures = [each.to_ndarray(format="rgb24") for each in container.decode(video=0)]
        return np.asarray(pictures, np.uint8)

    def with_pictures(self, pictures: Pictures, time_ns: Times | None = None) -> Film:
        """The same camera with other pictures, encoded as its own were."""
        stamps = self.time_ns if time_ns is None else time_ns
        rate_hz = SECOND_NS / float(np.median(np.diff(self.time_ns)))
        data = encode_film(pictures, self.codec, rate_hz)
        return replace(self, time_ns=stamps, data=data, size=pictures.shape[1:3])


def encode_film(pictures: Pictures, codec: str, rate_hz: float) -> bytes:
    """An MP4 of the pictures with one of the codecs that datasets come in."""
    target = BytesIO()
    with av.open(target, "w", format="mp4") as container:
        stream: Any = container.add_stream(
            codec, rate=Fraction(round(rate_hz * 100), 100), options=_ENCODING[codec]
        )
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = "yuv420p"
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return target.getvalue()


@dataclass(frozen=True, eq=False)
class Take:
    """One demonstration. `origin` is the recording that it was made from, where there is one."""

    name: str
    channels: dict[str, Channel]
    films: dict[str, Film] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    origin: Path | None = None

    def channel(self, key: str) -> Channel:
        """A channel that the mistake needs."""
        if key not in self.channels:
            raise CannotPlantError(f"no {key}")
        return self.channels[key]

    def with_values(self, key: str, change: Callable[[Array], Array]) -> Take:
        """The take after `change` of a copy of one channel's numbers."""
        old = self.channel(key)
        changed = np.ascontiguousarray(change(old.values.copy()))
        return self.with_channel(key, replace(old, values=changed))

    def with_channel(self, key: str, channel: Channel) -> Take:
        """The take with another channel."""
        return replace(self, channels={**self.channels, key: channel})

    def with_film(self, camera: str, film: Film) -> Take:
        """The take with another movie."""
        return replace(self, films={**self.films, camera: film})


@dataclass(frozen=True)
class Mark:
    """Where the mistake is: which takes, channels or cameras, columns, and from when to when.

    Nothing named means all of it. `span_ns` is on the clock of the takes.
    """

    takes: tuple[int, ...]
    streams: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    span_ns: tuple[int, int] | None = None


def travelling(channel: Channel, *words: str, least: float = TRAVELS_RAD) -> list[int]:
    """Columns whose name has one of the words and that travel far enough, or CannotPlantError."""
    low, high = np.percentile(channel.values, [1, 99], axis=0)
    columns = [
        place
        for place, name in enumerate(channel.names)
        if high[place] - low[place] >= least and (not words or any(w in name for w in words))
    ]
    if not columns:
        raise CannotPlantError("no such joint travels far enough")
    return columns


def busy_moment(channel: Channel, rng: np.random.Generator, length_s: float) -> tuple[int, int]:
    """A random stretch, in samples, among the third in which the arms travel most."""
    length = round(length_s * channel.rate_hz)
    if length + 4 > len(channel.values):
        raise CannotPlantError("the take is too short")
    travel = np.abs(np.diff(channel.values, axis=0)).sum(axis=1)
    total = np.concatenate(([0.0], np.cumsum(travel)))
    inside = total[length:] - total[:-length]
    inside = inside[1 : len(inside) - 2]
    first = 1 + int(rng.choice(np.flatnonzero(inside >= np.quantile(inside, 0.67))))
    return first, first + length


def span_of(channel: Channel, first: int, stop: int) -> tuple[int, int]:
    """Samples as times."""
    last = min(stop, len(channel.time_ns)) - 1
    return int(channel.time_ns[first]), int(channel.time_ns[max(first, last)])
