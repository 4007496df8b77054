"""A seeded synthetic humanoid episode: the workload of every benchmark, and food for tests.

It looks like a recording, not like a demonstration: joints swing inside their limits, cameras
see a textured scene that pans behind moving boxes, every sensor has noise and a clock of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.facts import SYNTHETIC
from corporeal.schema import Schema, Stream, open_schema
from corporeal.units import SECOND_NS

INSTRUCTION = "pick up the red box and put it on the shelf"

Sample = tuple[str, int, Any]


@dataclass(frozen=True)
class Workload:
    """`duration_s` of a teleoperated humanoid: 13 signals, 3 RGB cameras, depth, one instruction.

    With `size` other than (480, 640) the pictures are smaller, for quick tests.
    """

    embodiment: Embodiment
    duration_s: float = 20.0
    seed: int = 0
    size: tuple[int, int] = (480, 640)

    @cached_property
    def schema(self) -> Schema:
        """The ready teleoperation schema without its optional streams, for this robot."""
        full = open_schema("teleop_humanoid")
        streams = [stream for stream in full.streams if not stream.optional]
        if self.size != (480, 640):
            streams = [_resized(stream, self.size) for stream in streams]
        chosen = full.model_copy(update={"streams": tuple(streams)})
        return self.embodiment.resolve(chosen)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """All fields that a schema asks for by default, so that a test can take one away."""
        return {
            "task": "synthetic_reach",
            "operator": "op00",
            "station": "s0",
            "session": f"seed{self.seed}",
            "protocol": "none",
            "calibration": "none",
            "environment": "synthetic",
            "sensor_serials": {},
            "software": "corporeal.testing",
            "mode": SYNTHETIC,
        }

    def times(self, path: str) -> NDArray[np.int64]:
        """The stream's own stamps: its rate, a start offset under one period, a little jitter."""
        stream = self.schema.stream(path)
        if stream.rate_hz is None:
            return np.zeros(1, np.int64)
        rng = self._rng(path)
        period_ns = SECOND_NS / stream.rate_hz
        count = round(self.duration_s * stream.rate_hz)
        jitter = rng.uniform(-0.02, 0.02, count) * period_ns
        start = rng.uniform(0, 0.5) * period_ns
        return np.rint(start + period_ns * np.arange(count) + jitter).astype(np.int64)

    def signal(self, path: str) -> NDArray[Any]:
        """All values (T, ...) of an array stream."""
        stream = self.schema.stream(path)
        time_s = self.times(path)[:, None] / SECOND_NS
        rng = self._rng(path, 1)
        if "joint" in stream.name:
            values = self._joints(stream, time_s)
        elif stream.quaternion_columns is not None:
            values = _walk_in_a_circle(time_s[:, 0])
        else:
            width = int(np.prod([size for size in stream.shape if isinstance(size, int)]))
            phase, speed = rng.uniform(0, 6.28, width), rng.uniform(0.5, 4.0, width)
            values = 5.0 * np.sin(speed * time_s + phase)
        noise = rng.normal(0, 1e-3, values.shape)
        if stream.quaternion_columns is not None:
            noise[:, 3:] = 0
        shape = (len(time_s), *(size for size in stream.shape if isinstance(size, int)))
        return (values + noise).reshape(shape).astype(stream.dtype)

    def frames(self, path: str) -> Iterator[NDArray[Any]]:
        """The pictures of a video (height, width, 3) or depth (height, width) stream, in order."""
        stream = self.schema.stream(path)
        scene = _Scene(self._rng(path, 2), self.size)
        for time_ns in self.times(path):
            time_s = float(time_ns) / SECOND_NS
            yield scene.depth(time_s) if stream.kind == "depth" else scene.colour(time_s)

    def samples(self) -> Iterator[Sample]:
        """(path, time_ns, value) of every stream, in the order in which they were captured."""
        times = {stream.path: self.times(stream.path) for stream in self.schema.streams}
        values: dict[str, Iterator[Any]] = {}
        for stream in self.schema.streams:
            if stream.kind in ("video", "depth"):
                values[stream.path] = self.frames(stream.path)
            elif stream.kind == "text":
                values[stream.path] = iter([INSTRUCTION])
            else:
                values[stream.path] = iter(self.signal(stream.path))
        paths = list(times)
        owner = np.repeat(np.arange(len(paths)), [len(times[path]) for path in paths])
        stamps = np.concatenate([times[path] for path in paths])
        for index in np.argsort(stamps, kind="stable"):
            path = paths[owner[index]]
            yield path, int(stamps[index]), next(values[path])

    def _joints(self, stream: Stream, time_s: NDArray[np.float64]) -> NDArray[np.float64]:
        rng = np.random.default_rng([self.seed, 7])
        joints = self.embodiment.actuated
        lower = np.array([-1.0 if joint.lower is None else joint.lower for joint in joints])
        upper = np.array([1.0 if joint.upper is None else joint.upper for joint in joints])
        centre, reach = (lower + upper) / 2, np.minimum((upper - lower) / 4, 0.5)
        phase, speed = rng.uniform(0, 6.28, len(joints)), rng.uniform(0.5, 3.0, len(joints))
        if stream.group == "actions":
            time_s = time_s + 0.02  # A command leads the motion it causes.
        angle = speed * time_s + phase
        if "velocity" in stream.name:
            return np.asarray(reach * speed * np.cos(angle))
        if "torque" in stream.name:
            return np.asarray(10.0 * reach * np.sin(angle + 0.3))
        return np.asarray(centre + reach * np.sin(angle))

    def _rng(self, path: str, salt: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.seed, salt, *path.encode()])


class _Scene:
    """A textured background that pans, boxes that move before it, and sensor noise on top."""

    def __init__(self, rng: np.random.Generator, size: tuple[int, int]) -> None:
        self.rng = rng
        self.height, self.width = size
        room = (self.height + 96, self.width + 96)
        self.texture = _texture(rng, room)
        self.noise = rng.normal(0, 3.0, (*room, 3)).astype(np.int16)
        self.far_mm = (1400 + 1100 * _smooth(rng, room, cells=6)).astype(np.float32)
        self.depth_noise = rng.normal(0, 4.0, room).astype(np.float32)
        self.holes = rng.random(room) < 0.004
        self.boxes = [(rng.uniform(0, 6.28), rng.uniform(0.6, 1.6), rng.integers(40, 230, 3))
                      for _ in range(3)]  # fmt: skip

    def colour(self, time_s: float) -> NDArray[np.uint8]:
        """(height, width, 3) RGB."""
        picture = self._crop(self.texture, *self._pan(time_s)).astype(np.int16)
        for phase, speed, shade in self.boxes:
            picture[self._box(time_s, phase, speed)] = shade
        picture += self._crop(self.noise, *self._shake())
        return np.clip(picture, 0, 255).astype(np.uint8)

    def depth(self, time_s: float) -> NDArray[np.uint16]:
        """(height, width) millimetres, 0 where nothing was measured."""
        distance = self._crop(self.far_mm, *self._pan(time_s)).copy()
        for phase, speed, _ in self.boxes:
            distance[self._box(time_s, phase, speed)] = 700 + 100 * phase
        distance += self._crop(self.depth_noise, *self._shake())
        distance[self._crop(self.holes, *self._shake())] = 0
        measured: NDArray[np.uint16] = np.maximum(distance, 0).astype(np.uint16)
        return measured

    def _crop(self, field: NDArray[Any], row: int, column: int) -> NDArray[Any]:
        return field[row : row + self.height, column : column + self.width]

    def _pan(self, time_s: float) -> tuple[int, int]:
        return round(48 + 47 * np.sin(0.9 * time_s)), round(48 + 47 * np.cos(0.7 * time_s))

    def _shake(self) -> tuple[int, int]:
        row, column = self.rng.integers(0, 96, 2)
        return int(row), int(column)

    def _box(self, time_s: float, phase: float, speed: float) -> tuple[slice, slice]:
        top = int(self.height * (0.4 + 0.3 * np.sin(speed * time_s + phase)))
        left = int(self.width * (0.4 + 0.35 * np.cos(1.3 * speed * time_s + phase)))
        return slice(top, top + self.height // 6), slice(left, left + self.width // 8)


def _texture(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Mostly grey detail down to three pixels, with softer colour, as indoor scenes have."""
    detail = sum(weight * _smooth(rng, size, cells=cells)
                 for weight, cells in ((1.0, 4), (0.7, 16), (0.5, 64), (0.35, 220)))  # fmt: skip
    colour = np.stack([_smooth(rng, size, cells=24) for _ in range(3)], axis=-1)
    values = np.asarray(detail)[..., None] + 0.6 * colour
    values = (values - values.min()) / np.ptp(values)
    texture: NDArray[np.uint8] = (20 + 215 * values).astype(np.uint8)
    return texture


def _smooth(rng: np.random.Generator, size: tuple[int, int], *, cells: int) -> NDArray[np.float64]:
    """Random values on a coarse grid, blended linearly between: cheap value noise in 0..1."""
    coarse = rng.random((cells + 2, cells + 2))
    rows = np.linspace(0, cells, size[0])
    columns = np.linspace(0, cells, size[1])
    r, c = rows.astype(int), columns.astype(int)
    fr, fc = (rows - r)[:, None], (columns - c)[None, :]
    top = coarse[r][:, c] * (1 - fc) + coarse[r][:, c + 1] * fc
    bottom = coarse[r + 1][:, c] * (1 - fc) + coarse[r + 1][:, c + 1] * fc
    blended: NDArray[np.float64] = top * (1 - fr) + bottom * fr
    return blended


def _walk_in_a_circle(time_s: NDArray[np.float64]) -> NDArray[np.float64]:
    turn = 0.3 * time_s
    zero = np.zeros_like(turn)
    height = 0.75 + 0.01 * np.sin(9 * time_s)
    return np.stack(
        [np.sin(turn), 1 - np.cos(turn), height, np.cos(turn / 2), zero, zero, np.sin(turn / 2)],
        axis=-1,
    )


def _resized(stream: Stream, size: tuple[int, int]) -> Stream:
    if stream.kind not in ("video", "depth"):
        return stream
    return stream.model_copy(update={"shape": (*size, *stream.shape[2:])})
