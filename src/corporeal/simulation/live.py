"""The simulated humanoid under command: half a tick at a time, whoever drives its arms."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Shape
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.geometry import Array
from corporeal.simulation.balance import Balance, standing_start
from corporeal.simulation.gripper import OPENING_M
from corporeal.simulation.physics import ROWS_PER_TICK, STEPS_PER_ROW, TICK_S, Physics
from corporeal.simulation.rendering import Picture, SimulatedCameras
from corporeal.simulation.rig import SENSORS
from corporeal.simulation.room import (
    TABLE_DEPTH_M,
    TABLE_EDGE_M,
    TABLE_THICKNESS_M,
    TABLE_WIDTH_M,
)
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.sensor import Noise
from corporeal.simulation.task import instruction, tasks
from corporeal.simulation.trace import trace
from corporeal.simulation.variation import SceneObject, vary
from corporeal.simulation.walking import WalkingPolicy
from corporeal.simulation.world import STEP_S, build_world

# Arms may be commanded twice in a tick of the legs.
STEPS = ROWS_PER_TICK * STEPS_PER_ROW // 2
HALF_TICK_S = STEPS * STEP_S
# How far down a controlled crouch goes, and how fast: the knees bend, the soles stay.
KNEEL_M, KNEEL_M_S = 0.15, 0.06
# So much is kept of what nobody will judge.
_LOG_S = 5.0
# How far an object may lie elsewhere when the scene is put back, m.
_ELSEWHERE_M = 0.015


@dataclass(frozen=True, eq=False)
class LiveReading:
    """Where everything really is: joints (J,), base x y z qw qx qy qz, openings (2,) in m."""

    joints: Array
    rates: Array
    torques: Array
    base: Array
    openings: Array
    imu: Array
    object_pose: Array | None


@dataclass(eq=False)
class LiveSimulation:
    """The G1 in the scene of a task; `drive` moves it on by 10 ms.

    `seed` draws the scene. With `policy`, the file of a walking policy, the legs follow a base
    velocity; else they stand. A resource: `close` gives the cameras back.
    """

    task: str
    seed: int = 0
    policy: Path | None = None
    size: tuple[int, int] = (480, 640)
    walker: WalkingPolicy | None = field(default=None, init=False)
    _begun_s: float | None = field(default=None, init=False)
    _is_half: bool = field(default=False, init=False)
    _is_fresh: bool = field(default=False, init=False)
    _pictures: int = field(default=0, init=False)
    _cameras: SimulatedCameras | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        known = tasks()
        if self.task not in known:
            raise UnknownNameError("task", self.task, known)
        self._plan = known[self.task]
        if self._plan.needs_policy and self.policy is None:
            raise CorporealError(
                f"task {self.task!r}, got no walking policy; expected an ONNX file. Name one."
            )
        variation = vary(self._plan.layout, self.seed)
        self.instruction = instruction(self._plan, variation, self.seed)
        self.variation = variation.as_dict()
        self.world = build_world(variation)
        self._start = standing_start(self.world)
        self.opening_m = OPENING_M
        self._noise = np.random.default_rng([self.seed, 13])
        self._rng = np.random.default_rng([self.seed, 7])
        self._place(self._start)

    @property
    def robot(self) -> Embodiment:
        """The robot's document."""
        return self.world.embodiment

    @property
    def time_s(self) -> float:
        """Seconds of physics since the scene was put up."""
        return self._physics.time_s

    @property
    def cameras(self) -> tuple[str, ...]:
        """The cameras by name."""
        return self.world.cameras

    def furniture(self) -> dict[str, Shape]:
        """What arms must not touch, beside the floor: name and shape in the world."""
        height = self.world.variation.table_height_m
        if height is None:
            return {}
        size = (TABLE_DEPTH_M, TABLE_WIDTH_M, TABLE_THICKNESS_M)
        middle = (TABLE_EDGE_M + TABLE_DEPTH_M / 2, 0.0, height - TABLE_THICKNESS_M / 2)
        return {"table": Shape(type="box", size=size, xyz=middle)}

    def put_back(self) -> None:
        """The scene as it was, the robot standing; what is handled lies a little elsewhere."""
        start = self._start.copy()
        for name in self.world.objects[:1]:
            first = self.world.object_qpos[name]
            start[first : first + 2] += self._rng.uniform(-_ELSEWHERE_M, _ELSEWHERE_M, 2)
        self._place(start)

    def read(self) -> LiveReading:
        """The true state, now."""
        world, data = self.world, self._physics.data
        thing = world.object_qpos[world.objects[0]] if world.objects else None
        imu = [data.sensordata[world.sensors[f"pelvis_imu_{part}"]] for part in ("acc", "gyro")]
        return LiveReading(
            joints=data.qpos[world.joint_qpos].copy(),
            rates=data.qvel[world.joint_qvel].copy(),
            torques=data.actuator_force[world.servos].copy(),
            base=data.qpos[world.base_qpos : world.base_qpos + 7].copy(),
            openings=2.0 * data.qpos[world.gripper_qpos],
            imu=np.concatenate(imu),
            object_pose=None if thing is None else data.qpos[thing : thing + 7].copy(),
        )

    def sense(self) -> dict[str, NDArray[np.float32]]:
        """What the sensors say, by the path of their streams, with the noise that they have.

        Where the robot and the object really are is the ground truth, and has none.
        """
        seen = self.read()
        values = {
            "observations/joint_position": seen.joints,
            "observations/joint_velocity": seen.rates,
            "observations/joint_torque": seen.torques,
            "observations/pelvis_imu": seen.imu,
            "observations/left_gripper": seen.openings[:1],
            "observations/right_gripper": seen.openings[1:],
        }
        for path, value in values.items():
            noise = SENSORS[path].noise
            if isinstance(noise, Noise):
                spread = np.asarray(noise.white)
                values[path] = value + self._noise.normal(size=value.shape) * spread
        values["debug/base_pose"] = seen.base
        if seen.object_pose is not None:
            values["debug/object_pose"] = seen.object_pose
        return {path: np.asarray(value, np.float32) for path, value in values.items()}

    def things(self) -> list[tuple[SceneObject, Array]]:
        """The objects of the scene, and where each is (7,)."""
        places = self._snapshot
        first = self.world.object_qpos
        return [
            (thing, places[first[thing.name] : first[thing.name] + 7].copy())
            for thing in self.world.variation.things
        ]

    def drive(
        self,
        columns: NDArray[np.int64],
        angles: Array,
        openings: Array,
        *,
        velocity: Array,
        kneels: bool = False,
    ) -> Array:
        """10 ms on: joints (n,) of some columns, openings (2,) as shares, the base's velocity (3,).

        Returns the targets (J,) that all joints were given.
        """
        if not self._is_half:
            self._lead_legs(velocity, kneels=kneels)
        target: Array = self._body.copy()
        target[columns] = angles
        moving = self.walker.base_velocity() if self.walker is not None else None
        self._physics.glide(
            target, OPENING_M * np.clip(openings, 0.0, 1.0), steps=STEPS, torque=self._torque,
            base_velocity=moving,
        )  # fmt: skip
        self._is_half = not self._is_half
        self._snapshot = np.asarray(self._physics.data.qpos, np.float64).copy()
        if not self._is_half:
            self._tidy()
        return target

    def begin(self) -> None:
        """A demonstration begins now: what is judged is what happens from here on."""
        self._begun_s, self._is_fresh = self.time_s, True

    def judge(self) -> RunOutcome | None:
        """How the demonstration that began ended, by the judge of the task; None for none."""
        log = self._physics.log
        if self._begun_s is None or len(log.ticks_s) < 50:
            return None
        course = trace(self.world, log, start_s=self._begun_s, end_s=self.time_s)
        self._begun_s = None
        outcome = self._plan.judge(course)
        if outcome.success and course.end_s - course.start_s > self._plan.duration_s[1]:
            return RunOutcome(False, "timeout", outcome.measures)
        return outcome

    def picture(self, camera: str) -> Picture:
        """What a camera sees of the newest state; always from the same thread."""
        if self._cameras is None:
            self._cameras = SimulatedCameras(self.world, size=self.size, poses=self)
        self._pictures += 1
        return self._cameras.picture(camera, float(self._pictures))

    def qpos(self, time_s: Array) -> Array:
        """MuJoCo's positions (T, nq): the newest, whatever is asked for."""
        newest: Array = np.repeat(self._snapshot[None], len(time_s), axis=0)
        return newest

    def close(self) -> None:
        """Give the cameras back, from the thread that drew."""
        if self._cameras is not None:
            self._cameras.close()
            self._cameras = None

    def _place(self, start: Array) -> None:
        self._physics = Physics(self.world, start)
        self._balance = Balance(self.world)
        self._is_half = self._is_fresh = False
        self._begun_s = None
        self._snapshot = np.asarray(start, np.float64).copy()
        self._body: Array = start[self.world.joint_qpos].copy()
        self._torque: Array = np.zeros(len(self._body))
        if self.policy is not None:
            self.walker = WalkingPolicy(self.world, self.policy)
            self.walker.take_over(self._physics, arms=False)

    def _lead_legs(self, velocity: Array, *, kneels: bool) -> None:
        data = self._physics.data
        if self.walker is not None and not kneels:
            self.walker.command = np.asarray(velocity, np.float64).copy()
            self._body = self.walker.targets(data, TICK_S)
            self._torque = self.walker.support_torque(data)
            return
        sway = self._balance.sway
        wanted = -KNEEL_M if kneels else 0.0
        step = KNEEL_M_S * TICK_S
        sway.up_m += float(np.clip(wanted - sway.up_m, -step, step))
        self._body = self._balance.targets(data, TICK_S)
        self._torque = self._balance.support_torque(data)

    def _tidy(self) -> None:
        log = self._physics.log
        unwanted = self._begun_s is None and len(log.ticks_s) * TICK_S > _LOG_S
        if self._is_fresh or unwanted:
            self._physics.forget()
            self._is_fresh = False
