"""From a run in physics to what its sensors would have delivered, in order of arrival."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import Array, normalise
from corporeal.schema import roles
from corporeal.simulation.gripper import PAD_LENGTH_M, PAD_WIDTH_M
from corporeal.simulation.rendering import SIZE, SimulatedCameras
from corporeal.simulation.rig import SENSORS, clocks, stream_sources, without_noise
from corporeal.simulation.run import SimulatedRun, Touch
from corporeal.simulation.sensor import (
    DepthNoise,
    Noise,
    PictureNoise,
    RangeNoise,
    Schedule,
    Sensor,
    SensorClock,
    schedule,
    stream_rng,
)
from corporeal.simulation.trajectory import Trajectory
from corporeal.units import SECOND_NS

RINGS, RAY_COLUMNS = 16, 90
# Mostly downwards: the G1's document has its scanner (mid360_link) hanging upside down.
ELEVATION_RAD = (np.radians(-52.0), np.radians(7.0))
SITE = "lidar"


def ray_directions(rings: int = RINGS, columns: int = RAY_COLUMNS) -> Array:
    """Unit vectors (rings * columns, 3) in the frame of the sensor: x forward, z up."""
    elevation = np.repeat(np.linspace(*ELEVATION_RAD, rings), columns)
    azimuth = np.tile(np.linspace(-np.pi, np.pi, columns, endpoint=False), rings)
    level = np.cos(elevation)
    return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)], axis=1)


class Lidar:
    """Casts the rays of one scan; rays that end on the robot itself give no point.

    All rays of a scan leave at the same instant: there is no distortion by motion.
    """

    def __init__(
        self, run: SimulatedRun, *, rings: int = RINGS, columns: int = RAY_COLUMNS
    ) -> None:
        self._mujoco = import_mujoco()
        self._model: Any = run.world.model
        self._data = self._mujoco.MjData(self._model)
        self._trajectory = Trajectory(run)
        self._site = self._model.site(SITE)
        self._directions = ray_directions(rings, columns)
        roots = self._model.body_rootid[self._model.geom_bodyid]
        self._own_geoms = roots == self._model.body_rootid[int(self._site.bodyid[0])]
        self._albedo = _albedo(self._model)

    def scan(
        self, time_s: float, *, noise: RangeNoise | None, rng: np.random.Generator
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Points (n, 4) in the frame of the sensor: x, y, z in metres, intensity 0..1."""
        distance, geom, incidence = self._cast(time_s)
        limits = noise or RangeNoise()
        hit = (geom >= 0) & (distance >= limits.near_m) & (distance <= limits.far_m)
        hit[hit] = ~self._own_geoms[geom[hit]]
        if noise is not None:
            hit &= rng.random(len(distance)) >= noise.dropouts
            distance = distance + rng.normal(size=len(distance)) * noise.white_m
        intensity = self._albedo[geom[hit]] * incidence[hit]
        points = self._directions[hit] * distance[hit, None]
        return np.column_stack([points, intensity]).astype(np.float32)

    def _cast(self, time_s: float) -> tuple[Array, Any, Array]:
        """Range (m), geom (-1: none) and cosine of incidence of every ray."""
        model, data = self._model, self._data
        data.qpos[:] = self._trajectory.qpos(np.array([time_s]))[0]
        self._mujoco.mj_kinematics(model, data)
        place = data.site_xpos[self._site.id]
        rays = self._directions @ data.site_xmat[self._site.id].reshape(3, 3).T
        count = len(rays)
        geom, distance = np.full(count, -1, np.int32), np.zeros(count)
        normals = np.zeros(3 * count)
        cutoff = 2 * RangeNoise().far_m
        # The sensor's own body is left out: its housing has a window, the collision shape none.
        self._mujoco.mj_multiRay(
            model, data, place, rays.ravel(), None, True, int(self._site.bodyid[0]),
            geom, distance, normals, count, cutoff,
        )  # fmt: skip
        incidence = np.abs(np.einsum("ni,ni->n", rays, normals.reshape(-1, 3)))
        return distance, geom, incidence


def _albedo(model: Any) -> Array:
    """How bright each geom is (ngeom,), which stands for how well it sends a pulse back."""
    colours = np.array(model.geom_rgba[:, :3], np.float64)
    painted = model.geom_matid >= 0
    colours[painted] = model.mat_rgba[model.geom_matid[painted], :3]
    # The weights of light in Rec. 709.
    bright: Array = colours @ np.array([0.2126, 0.7152, 0.0722])
    return bright


ROWS, COLUMNS = 16, 16
# Both pads of a hand in one map: the near finger's columns on the left, the far one's right.
PADS = 2
PAD_COLUMNS = COLUMNS // PADS
# A taxel, along and across the pad: 3 mm x 4 mm, as in resistive skins for fingers.
TAXEL_M = (PAD_LENGTH_M / ROWS, PAD_WIDTH_M / PAD_COLUMNS)
TAXEL_M2 = TAXEL_M[0] * TAXEL_M[1]
# A contact is a point to the simulator; a soft skin spreads it over a few taxels.
SPREAD_M = 0.004


def pressure_map(
    place: ArrayLike, force_n: ArrayLike, finger: ArrayLike, *, spread_m: float = SPREAD_M
) -> Array:
    """Pressure (16, 16) in Pa of contacts at `place` (n, 2) in -1..1, pressed by `force_n` (n,).

    Rows run along the pads, columns across: 0 to 7 are the near finger (`finger` 0), 8 to 15 the
    far one. The pressures times the area of a taxel add up to the forces, at the rim too.
    """
    where = np.asarray(place, np.float64).reshape(-1, 2)
    across = _shares(where[:, 0], PAD_COLUMNS, TAXEL_M[1], spread_m)
    along = _shares(where[:, 1], ROWS, TAXEL_M[0], spread_m)
    on_pad = np.asarray(finger, np.int64)[:, None] == np.arange(PADS)
    force = np.einsum("n,np,nr,nc->rpc", np.asarray(force_n, np.float64), on_pad, along, across)
    pressure: Array = force.reshape(ROWS, COLUMNS) / TAXEL_M2
    return pressure


def pressure_maps(
    touch: Touch,
    hand: int,
    *,
    step_s: float,
    steps: int,
    time_s: Array,
    window_s: float,
    spread_m: float = SPREAD_M,
) -> Array:
    """Pressure (T, 16, 16) in Pa of one hand's pads at `time_s` (T,) after the run's first step.

    Each map is the mean over the steps within half of `window_s` of its instant, the time in which
    the skin is read out: contacts of a simulation flicker from step to step, readings do not.
    """
    mine = np.flatnonzero(touch.hand == hand)
    mine = mine[np.argsort(touch.step[mine], kind="stable")]
    step, place, force = touch.step[mine], touch.place[mine], touch.force_n[mine]
    finger = touch.finger[mine] if len(touch.finger) else np.zeros_like(mine)
    first = np.clip(np.ceil((time_s - window_s / 2) / step_s - 1e-6), 0, steps - 1)
    last = np.clip(np.floor((time_s + window_s / 2) / step_s + 1e-6), first, steps - 1)
    begin, end = np.searchsorted(step, first, "left"), np.searchsorted(step, last, "right")
    maps = np.zeros((len(time_s), ROWS, COLUMNS))
    for row in np.flatnonzero(end > begin):
        part = slice(begin[row], end[row])
        pressure = pressure_map(place[part], force[part], finger[part], spread_m=spread_m)
        maps[row] = pressure / (last[row] - first[row] + 1)
    return maps


def _shares(place: Array, taxels: int, taxel_m: float, spread_m: float) -> Array:
    """Shares (n, taxels) of contacts at `place` (n,) along one side; each row adds up to 1."""
    centres = (np.arange(taxels) + 0.5) * taxel_m
    away = centres - (np.clip(place, -1.0, 1.0)[:, None] + 1) / 2 * taxels * taxel_m
    weight = np.exp(-0.5 * (away / spread_m) ** 2)
    shares: Array = weight / weight.sum(axis=1, keepdims=True)
    return shares


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
    run: SimulatedRun,
    *,
    seed: int,
    pictures: bool = True,
    size: tuple[int, int] = SIZE,
    sensors: Mapping[str, Sensor] = SENSORS,
    devices: Mapping[str, SensorClock] | None = None,
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
        scene = (
            stack.enter_context(SimulatedCameras(run, size=size, seed=seed)) if pictures else None
        )
        session = _Session(run, seed, known, start_ns, scene)
        channels = [session.instruction(), session.outcome()]
        for sensor in sensors.values():
            if _is_there(sensor, run, pictures=pictures):
                channels.append(session.channel(sensor))
        yield from _in_order(channels)


def _is_there(sensor: Sensor, run: SimulatedRun, *, pictures: bool) -> bool:
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
        run: SimulatedRun,
        seed: int,
        devices: Mapping[str, SensorClock],
        start_ns: int,
        scene: SimulatedCameras | None,
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
