"""Cameras that share a hardware trigger: their frames matched by trigger, given one stamp each."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from corporeal.schema import Part, Schema
from corporeal.schema.document import Name
from corporeal.units import SECOND_NS

Stamps = NDArray[np.int64]
COUNTER = "_frame"
"""Ends the name of a stream that holds the device's own number of every picture."""
# So many frames tell how the counters of two cameras lie to each other; so many in a row that
# lie otherwise are no accident.
_FIRST, _LASTING = 30, 5
_MOST_NAMED = 50
# A file with gaps states its average.
_SAME_RATE = 1.2
_RECENT = 64


class TriggerGroup(Part):
    """Cameras whose exposures one signal starts."""

    name: Name = Field(description="such as stereo")
    cameras: tuple[Name, ...] = Field(min_length=2, description="their streams in the episode")


def group_paths(group: TriggerGroup, schema: Schema) -> tuple[str, ...]:
    """The addresses of a group's cameras; raises ValueError for what cannot share a trigger."""
    streams = {stream.name: stream for stream in schema.streams}
    for name in group.cameras:
        if name not in streams or streams[name].kind not in ("video", "depth"):
            known = ", ".join(one.name for one in schema.streams if one.kind in ("video", "depth"))
            raise ValueError(f"camera {name!r} is not delivered; cameras are: {known or 'none'}")
    rates = [streams[name].rate_hz or 0.0 for name in group.cameras]
    if min(rates) <= 0 or max(rates) > _SAME_RATE * min(rates):
        listed = ", ".join(f"{name} {streams[name].rate_hz or 0:g} Hz" for name in group.cameras)
        raise ValueError(f"cameras of one trigger have one rate; got {listed}")
    return tuple(streams[name].path for name in group.cameras)


def group_rate_hz(paths: Sequence[str], schema: Schema) -> float:
    """How often a group is triggered: the rate of the camera that misses least."""
    return max(stream.rate_hz or 0.0 for stream in schema.streams if stream.path in paths)


@dataclass(frozen=True)
class TriggerMatch:
    """The stamps that a group's frames get, by camera, and what there is to say of the group."""

    stamps: Mapping[str, Stamps]
    facts: Mapping[str, Any]


def number_frames(source_ns: Stamps, period_ns: float, counted: Mapping[int, int]) -> Stamps:
    """The trigger of every frame: the device's own count, or told from its stamps."""
    if counted and all(int(stamp) in counted for stamp in source_ns):
        return np.array([counted[int(stamp)] for stamp in source_ns], np.int64)
    # Step by step: over a whole recording the clock of a camera drifts by more than a period.
    steps = np.rint(np.diff(source_ns) / period_ns).astype(np.int64)
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(np.maximum(steps, 0))))


def match_frames(
    times_ns: Mapping[str, Stamps], numbers: Mapping[str, Stamps], period_ns: float
) -> TriggerMatch:
    """Frames of one trigger get the median of their times, if they lie within half a period.

    Times are on one clock. A trigger that all other cameras have between a camera's first and last
    frame was missed by it.
    """
    leader = max(times_ns, key=lambda camera: len(times_ns[camera]))
    base = int(times_ns[leader][0])
    places: dict[str, Stamps] = {}
    late: dict[str, Any] = {}
    for camera, times in times_ns.items():
        shift, parted = _relate(times, numbers[camera], times_ns[leader], numbers[leader])
        places[camera] = numbers[camera] - shift
        if parted is not None:
            frames, at = parted
            late[camera] = {"frames": frames, "at_ns": int(times[at])}
    indices = np.unique(np.concatenate(list(places.values())))
    table = np.full((len(indices), len(times_ns)), np.nan)
    for column, (camera, times) in enumerate(times_ns.items()):
        table[np.searchsorted(indices, places[camera]), column] = times - base
    is_shared = np.isfinite(table).sum(axis=1) > 1
    common = np.nanmedian(table, axis=1)
    stamps = {}
    for camera, times in times_ns.items():
        shared = np.rint(common[np.searchsorted(indices, places[camera])]).astype(np.int64) + base
        stamps[camera] = np.where(np.abs(shared - times) <= period_ns / 2, shared, times)
    skew = np.nanmax(table[is_shared], axis=1) - np.nanmin(table[is_shared], axis=1)
    return TriggerMatch(
        stamps,
        {
            "cameras": list(times_ns),
            "triggers": len(indices),
            "skew_ms": {
                "median": round(float(np.median(skew)) / 1e6, 3) if len(skew) else None,
                "worst": round(float(skew.max()) / 1e6, 3) if len(skew) else None,
            },
            "missed": _missed(places, indices, common, base),
            "out_of_step": late,
        },
    )


def _relate(
    times: Stamps, numbers: Stamps, leader_ns: Stamps, leader_numbers: Stamps
) -> tuple[int, tuple[int, int] | None]:
    """How far a camera's numbers lie from the leader's, and from which frame on they part."""
    after = np.clip(np.searchsorted(leader_ns, times), 1, max(1, len(leader_ns) - 1))
    before = after - 1
    after = np.minimum(after, len(leader_ns) - 1)
    nearest = np.where(times - leader_ns[before] <= leader_ns[after] - times, before, after)
    apart = numbers - leader_numbers[nearest]
    shift = Counter(apart[:_FIRST].tolist()).most_common(1)[0][0]
    parted = apart != shift
    runs = np.convolve(parted, np.ones(_LASTING, int), "valid") == _LASTING
    if not runs.any():
        return int(shift), None
    first = int(np.argmax(runs))
    return int(shift), (int(shift - apart[first]), first)


def _missed(
    places: Mapping[str, Stamps], indices: Stamps, common: NDArray[np.float64], base: int
) -> dict[str, Any]:
    """The triggers that each camera has no frame of, while it was running."""
    missed = {}
    for camera, own in places.items():
        inside = indices[(indices >= own.min()) & (indices <= own.max())]
        gone = np.setdiff1d(inside, own)
        if len(gone):
            at = np.rint(common[np.searchsorted(indices, gone[:_MOST_NAMED])]).astype(np.int64)
            missed[camera] = {"count": len(gone), "at_ns": (at + base).tolist()}
    return missed


@dataclass(frozen=True)
class TriggerHealth:
    """A group right now: how far apart the frames of one trigger arrive, and who missed some."""

    name: str
    skew_ms: float | None
    missed: Mapping[str, int]


@dataclass
class _Camera:
    number: int
    last_source_ns: int
    missed: int = 0
    recent: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_RECENT))


class TriggerGauge:
    """Counts the triggers of one group as its frames come."""

    def __init__(self, name: str, paths: Sequence[str], rate_hz: float) -> None:
        self.name, self._paths = name, tuple(paths)
        self._period_ns = SECOND_NS / rate_hz
        self._cameras: dict[str, _Camera] = {}

    def take(self, path: str, source_ns: int, arrival_ns: int, *, is_recording: bool) -> None:
        """Note a frame, if it is of this group."""
        if path not in self._paths:
            return
        camera = self._cameras.get(path)
        if camera is None:
            camera = self._cameras[path] = _Camera(self._number_at(arrival_ns), source_ns)
        else:
            step = round((source_ns - camera.last_source_ns) / self._period_ns)
            camera.missed += max(0, step - 1) if is_recording else 0
            camera.number += max(0, step)
            camera.last_source_ns = source_ns
        camera.recent.append((camera.number, arrival_ns))

    def read(self) -> TriggerHealth:
        """The group now."""
        arrivals = [dict(camera.recent) for camera in self._cameras.values()]
        skew_ms = None
        if len(arrivals) == len(self._paths):
            shared = set.intersection(*(set(numbers) for numbers in arrivals))
            if shared:
                times = [numbers[max(shared)] for numbers in arrivals]
                skew_ms = (max(times) - min(times)) / 1e6
        missed = {path: camera.missed for path, camera in self._cameras.items() if camera.missed}
        return TriggerHealth(self.name, skew_ms, missed)

    def _number_at(self, arrival_ns: int) -> int:
        """The trigger that a first frame is of, by when it came beside the other cameras'."""
        for camera in self._cameras.values():
            number, other_ns = camera.recent[-1]
            return number + round((arrival_ns - other_ns) / self._period_ns)
        return 0
