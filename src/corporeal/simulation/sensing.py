"""From a run in physics to what its sensors would have delivered, in order of arrival."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corporeal.geometry import Array, normalise
from corporeal.schema import roles
from corporeal.simulation.lidar import Lidar
from corporeal.simulation.rendering import SIZE, Cameras
from corporeal.simulation.rig import SENSORS, clocks, stream_sources, without_noise
from corporeal.simulation.run import Run
from corporeal.simulation.sensor import (
    Clock,
    DepthNoise,
    Noise,
    PictureNoise,
    RangeNoise,
    Schedule,
    Sensor,
    schedule,
    stream_rng,
)
from corporeal.simulation.touch_map import COLUMNS, ROWS, pressure_maps
from corporeal.simulation.trajectory import Trajectory
from corporeal.units import SECOND_NS

__all__ = ["SensorSample", "clocks", "sense", "stream_sources", "without_noise"]

VIDEO = ("head_left", "head_right", "external_front", "external_side")
DEPTH = ("head_depth",)
HANDS = ("left", "right")
# How long a tactile skin takes to read all its taxels once.
READOUT_S = 0.008

# The value of sample k of a stream, made when it is asked for.
Reading = Callable[[int], Any]


@dataclass(frozen=True)
class SensorSample:
    """One sample of one stream as it reaches the recorder.

    `source_ns` is the stamp of the device's own clock (`source`) at capture, `arrival_ns` the
    host's clock on receipt; `true_ns` is the host's clock at capture, which no recorder knows.
    """

    path: str
    source: str
    source_ns: int
    arrival_ns: int
    true_ns: int
    value: Any


@dataclass(frozen=True)
class _Channel:
    path: str
    source: str
    when: Schedule
    read: Reading


def sense(
    run: Run,
    *,
    seed: int,
    pictures: bool = True,
    size: tuple[int, int] = SIZE,
    sensors: Mapping[str, Sensor] = SENSORS,
    devices: Mapping[str, Clock] | None = None,
    start_ns: int = 0,
) -> Iterator[SensorSample]:
    """Yield every sample of a run in the order in which it reaches the recorder.

    The run begins at `start_ns` of the host's clock. `devices` are the clocks, by default those
    of `clocks(seed)`: pass the same ones for all runs of a session. Without `pictures` the cameras
    are left out, which needs no OpenGL. A picture is drawn when its turn comes: memory stays
    bounded, and a run of which half is taken costs half.
    """
    known = clocks(seed) if devices is None else devices
    with ExitStack() as stack:
        scene = stack.enter_context(Cameras(run, size=size, seed=seed)) if pictures else None
        session = _Session(run, seed, known, start_ns, scene)
        channels = [session.instruction(), session.outcome()]
        for sensor in sensors.values():
            if _is_there(sensor, run, pictures=pictures):
                channels.append(session.channel(sensor))
        yield from _in_order(channels)


def _is_there(sensor: Sensor, run: Run, *, pictures: bool) -> bool:
    name = sensor.path.split("/")[1]
    if name in VIDEO + DEPTH:
        return pictures
    return name != roles.OBJECT_POSE or bool(run.world.objects)


def _in_order(channels: list[_Channel]) -> Iterator[SensorSample]:
    lengths = [len(channel.when.true_ns) for channel in channels]
    owner = np.repeat(np.arange(len(channels)), lengths)
    number = np.concatenate([np.arange(length) for length in lengths])
    arrival = np.concatenate([channel.when.arrival_ns for channel in channels])
    for index in np.argsort(arrival, kind="stable"):
        channel, k = channels[owner[index]], int(number[index])
        when = channel.when
        yield SensorSample(
            channel.path,
            channel.source,
            int(when.source_ns[k]),
            int(when.arrival_ns[k]),
            int(when.true_ns[k]),
            channel.read(k),
        )


class _Session:
    """One run being sensed: which reading belongs to which stream."""

    def __init__(
        self,
        run: Run,
        seed: int,
        devices: Mapping[str, Clock],
        start_ns: int,
        scene: Cameras | None,
    ) -> None:
        self.run, self.seed, self.devices, self.start_ns = run, seed, devices, start_ns
        self.scene = scene
        self.trajectory = Trajectory(run)
        self.end_ns = start_ns + round(float(run.time_s[-1] - run.time_s[0]) * SECOND_NS)

    def channel(self, sensor: Sensor) -> _Channel:
        clock = self.devices[sensor.clock]
        when = schedule(sensor, clock, seed=self.seed, start_ns=self.start_ns, end_ns=self.end_ns)
        time_s = (when.true_ns - self.start_ns) / SECOND_NS + self.run.time_s[0]
        return _Channel(sensor.path, sensor.clock, when, self._reading(sensor, time_s))

    def instruction(self) -> _Channel:
        return self._said("observations/instruction", [(0.0, self.run.instruction)])

    def outcome(self) -> _Channel:
        """Events as they happen, then how it ended."""
        first, last = self.run.time_s[0], self.run.time_s[-1]
        said = [
            (event.time_s - first, json.dumps({"event": event.name, **_detail(event.detail)}))
            for event in self.run.events
        ]
        said.append((last - first, json.dumps(asdict(self.run.outcome), sort_keys=True)))
        return self._said("debug/outcome", said)

    def _said(self, path: str, said: list[tuple[float, str]]) -> _Channel:
        ordered = sorted(said, key=lambda item: item[0])
        true = np.array([round(time_s * SECOND_NS) for time_s, _ in ordered], np.int64)
        true += self.start_ns
        stamps = self.devices["host"].stamp(true)
        return _Channel(path, "host", Schedule(true, stamps, true), lambda k: ordered[k][1])

    def _reading(self, sensor: Sensor, time_s: Array) -> Reading:
        name, noise = sensor.path.split("/")[1], sensor.noise
        scene = self.scene
        if name in VIDEO and scene is not None:
            grain = noise if isinstance(noise, PictureNoise) else None
            return lambda k: scene.picture(
                name, float(time_s[k]), noise=grain, rng=self._dice(name, k)
            )
        if name in DEPTH and scene is not None:
            error = noise if isinstance(noise, DepthNoise) else None
            return lambda k: scene.depth(
                name, float(time_s[k]), noise=error, rng=self._dice(name, k)
            )
        if name == "lidar":
            laser, spread = Lidar(self.run), noise if isinstance(noise, RangeNoise) else None
            return lambda k: laser.scan(float(time_s[k]), noise=spread, rng=self._dice(name, k))
        values = self._signal(sensor, name, time_s)
        return lambda k: values[k]

    def _dice(self, name: str, k: int) -> np.random.Generator:
        return stream_rng(self.seed, "reading", name, k)

    def _signal(self, sensor: Sensor, name: str, time_s: Array) -> Any:
        """All values (T, ...) of a stream of numbers, with its noise, as 32-bit floats."""
        values = self._truth(name, time_s)
        if isinstance(sensor.noise, Noise):
            values = sensor.noise.apply(stream_rng(self.seed, "noise", sensor.path), time_s, values)
        if name.endswith(roles.ANY_POSE):
            values[:, 3:] = normalise(values[:, 3:])
        if name.endswith(roles.TACTILE):
            values = np.maximum(values, 0.0).reshape(-1, ROWS, COLUMNS)
        return values.astype(np.float32)

    def _truth(self, name: str, time_s: Array) -> Array:
        run, at = self.run, self.trajectory
        part, _, what = name.rpartition("_")
        match name:
            case roles.JOINT_POSITION:
                return at.blend(run.qpos[:, run.world.joint_qpos], time_s)
            case roles.JOINT_VELOCITY:
                return at.blend(run.qvel[:, run.world.joint_qvel], time_s)
            case roles.JOINT_TORQUE:
                return at.blend(run.torque_nm, time_s)
            case roles.JOINT_POSITION_TARGET:
                return at.hold(run.target_rad, time_s)
            case roles.BASE_VELOCITY:
                return at.hold(run.base_velocity_target, time_s)
            case roles.BASE_POSE:
                return at.qpos(time_s)[:, :7]
            case roles.OBJECT_POSE:
                first = run.world.object_qpos[run.world.objects[0]]
                return at.qpos(time_s)[:, first : first + 7]
        if what == "imu":
            return at.blend(self._logged(f"{name}_acc", f"{name}_gyro"), time_s)
        if what == "wrench":
            return at.blend(self._logged(f"{part}_force", f"{part}_torque"), time_s)
        side = HANDS.index(name.split("_")[0])
        if what == "gripper":
            return at.blend(run.gripper[:, side, None], time_s)
        if what == "target":
            return at.hold(run.gripper_target[:, side, None], time_s)
        return self._touched(side, time_s)

    def _logged(self, *names: str) -> Array:
        parts = [self.run.sensordata[:, self.run.world.sensors[name]] for name in names]
        return np.concatenate(parts, axis=1)

    def _touched(self, hand: int, time_s: Array) -> Array:
        run = self.run
        maps = pressure_maps(
            run.touch,
            hand,
            step_s=run.step_s,
            steps=len(run.time_s),
            time_s=time_s - run.time_s[0],
            window_s=READOUT_S,
        )
        return maps.reshape(len(maps), -1)


def _detail(detail: str) -> dict[str, str]:
    return {"detail": detail} if detail else {}
