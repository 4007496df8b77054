"""The simulated G1 with two grippers, in the scene of a task; legs stand, or follow a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.schema import Stream, open_schema, roles
from corporeal.simulation.live import LiveSimulation
from corporeal.teleoperation.arm_model import arm_columns
from corporeal.teleoperation.clearance import Obstacle, floor
from corporeal.teleoperation.operator_input import SIDES
from corporeal.teleoperation.robot_link import (
    LinkOptions,
    NearbyThing,
    RobotDriver,
    SentCommand,
    TaskResult,
)
from corporeal.teleoperation.session import BodyState, Tick

CAMERAS = ("head_left", "external_front")
_JOINTS, _BASE = "observations/joint_position", "debug/base_pose"


class SimulatedRobot:
    """A RobotLink to the simulation; a command moves it on by 10 ms, in nobody's real time."""

    walks: bool
    kneels = True

    def __init__(self, options: LinkOptions) -> None:
        self._live = LiveSimulation(
            options.task, options.seed, options.walking_policy, (options.height, options.width)
        )
        self.robot = self._live.robot
        self.told = tuple(range(len(self.robot.joint_names)))
        self.walks = options.walking_policy is not None
        self.instruction = self._live.instruction
        wanted = (name for name in options.cameras if name in self._live.cameras)
        self.cameras: tuple[str, ...] = tuple(dict.fromkeys((*CAMERAS, *wanted)))
        self.picture_size = (options.height, options.width)
        self.opening_m = self._live.opening_m
        self.obstacles: tuple[Obstacle, ...] = (
            floor(),
            *(Obstacle(name, shape) for name, shape in self._live.furniture().items()),
        )
        self.facts: Mapping[str, Any] = {
            "variation": self._live.variation, "environment": "simulated room",
            "calibration": "exact", "protocol": "none",
            "sensor_serials": {"robot": f"sim-{options.seed}"},
        }  # fmt: skip
        self._columns = arm_columns(self.robot)
        self.streams = tuple(self._streams())
        self._seen: dict[str, NDArray[np.float32]] = {}

    def read(self, now_ns: int) -> BodyState:
        """The state as the sensors have it, in the 32 bits that a recording keeps."""
        self._seen = self._live.sense()
        openings = {
            side: float(self._seen[f"observations/{side}_gripper"][0] / self._live.opening_m)
            for side in SIDES
        }
        return BodyState(
            now_ns,
            self._seen[_JOINTS].astype(np.float64),
            self._seen[_BASE].astype(np.float64),
            openings,
        )

    def send(self, tick: Tick) -> SentCommand:
        """Arms, grippers, legs; physics goes on."""
        openings = np.array([tick.openings[side] for side in SIDES])
        target = self._live.drive(
            self._columns, tick.arms.positions, openings, velocity=tick.velocity,
            kneels=tick.kneels,
        )  # fmt: skip
        told = {side: self._live.opening_m * tick.openings[side] for side in SIDES}
        return SentCommand(target, told, tick.velocity if self.walks else np.zeros(3))

    def measure(self) -> dict[str, Any]:
        """All sensors but the cameras, as they were read last."""
        return dict(self._seen)

    def picture(self, camera: str) -> NDArray[np.uint8]:
        """What a camera sees of the newest state."""
        return self._live.picture(camera)

    def things(self) -> list[NearbyThing]:
        """What lies on the table; a crate counts as the box that it is."""
        return [
            NearbyThing(
                thing.name,
                "box" if thing.shape == "crate" else thing.shape,
                thing.size,
                thing.colour,
                pose,
            )
            for thing, pose in self._live.things()
        ]

    def begin_task(self) -> None:
        """The judge looks at what happens from here on."""
        self._live.begin()

    def judge_task(self) -> TaskResult | None:
        """The judge of the task."""
        outcome = self._live.judge()
        return None if outcome is None else TaskResult(**asdict(outcome))

    def put_back(self) -> bool:
        """The robot stands and the object is back on the table."""
        self._live.put_back()
        return True

    def release_cameras(self) -> None:
        """Give OpenGL back."""
        self._live.close()

    def close(self) -> None:
        """Nothing holds a simulated robot."""

    def _streams(self) -> list[Stream]:
        known = {stream.path: stream for stream in open_schema("simulated_humanoid").streams}
        names = (
            roles.JOINT_POSITION, roles.JOINT_VELOCITY, roles.JOINT_TORQUE, "pelvis_imu",
            "left_gripper", "right_gripper",
        )  # fmt: skip
        paths = [f"observations/{name}" for name in names] + ["debug/base_pose"]
        if self._live.world.objects:
            paths.append("debug/object_pose")
        return [known[path].model_copy(update={"rate_hz": 100.0}) for path in paths]


ROBOT = RobotDriver(SimulatedRobot, ("g1",))
