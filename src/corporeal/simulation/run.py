"""What physics leaves behind: the whole state over time, what happened, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corporeal.simulation.world import World

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """Something that happened: `start`, `grasp`, `lift`, `release`, `slip`, `fall`, `end`, ..."""

    time_s: float
    name: str
    detail: str = ""


@dataclass(frozen=True)
class RunOutcome:
    """How the demonstration ended, from the simulator's state: the ground truth.

    `failure` is None for a success, else one of missed_grasp, slip, drop, collision, fall,
    misplaced, timeout. `measures` holds what it was judged by, such as placement_error_m or
    lift_height_m.
    """

    success: bool
    failure: str | None = None
    measures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Touch:
    """Contacts on the fingertip pads: one row per contact and logged step.

    `step` numbers the rows of the run, `hand` is 0 for left and 1 for right, `place` (n, 2) is
    where on the pad, in -1..1 along its width and height, `force_n` the normal force. `finger`
    is 0 for the near and 1 for the far one.
    """

    step: NDArray[np.int64]
    hand: NDArray[np.int64]
    place: Array
    force_n: Array
    finger: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """One demonstration in physics, logged every `step_s`.

    Arrays have one row per logged step: `qpos`, `qvel`, `qacc` in MuJoCo's order, `sensordata` as
    `world.sensors` slices it. `target_rad` (N, J) and `torque_nm` (N, J) are the commanded
    positions and measured torques of the robot's joints in the order of its data; `gripper_target`
    and `gripper` (N, 2) are the openings of the left and right gripper in metres.
    """

    world: World
    task: str
    instruction: str
    time_s: Array
    qpos: Array
    qvel: Array
    qacc: Array
    sensordata: Array
    target_rad: Array
    torque_nm: Array
    gripper_target: Array
    gripper: Array
    base_velocity_target: Array
    touch: Touch
    events: tuple[Event, ...]
    outcome: RunOutcome
    variation: dict[str, Any]

    @property
    def step_s(self) -> float:
        """Time between two rows."""
        return float(self.time_s[1] - self.time_s[0])
