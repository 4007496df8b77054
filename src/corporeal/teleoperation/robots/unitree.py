"""A Unitree G1 or H1 over DDS: its arms are commanded, its own controller keeps the legs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corporeal.dds.link import DdsError, DdsLink
from corporeal.dds.unitree_message import (
    ARM_TOPIC,
    LOW_STATE_TOPIC,
    MotorCommand,
    dds_types,
    is_remote_pressed,
    read_low_state,
    unitree_model,
    write_arm_command,
)
from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError
from corporeal.schema import Stream, roles
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.clearance import Obstacle, floor
from corporeal.teleoperation.robot_link import (
    LinkOptions,
    NearbyThing,
    RobotDriver,
    SentCommand,
    TaskResult,
)
from corporeal.teleoperation.session import BodyState, Tick

# Whoever watches the robot holds this button of its remote; let go, the arms come to rest.
SWITCH: Final = "R1"
# A robot that says nothing for so long is not moved; so long is waited for its first word.
_SILENT_NS, _FIRST_S = 100_000_000, 5.0
# Nm/rad and Nms/rad of the motors of an arm, as Unitree's own examples have them.
_STIFFNESS, _DAMPING = 60.0, 1.5
# The arms are taken from the robot's own controller, and given back, in so long.
_TAKE_S, _GIVE_S, _TICK_S = 2.0, 1.0, 0.01
_IMU = ("ax", "ay", "az", "wx", "wy", "wz")


class UnitreeRobot:
    """A RobotLink to a Unitree; grippers, cameras and legs are not its business."""

    walks = False
    kneels = False
    cameras: tuple[str, ...] = ()
    opening_m = 0.0

    def __init__(self, options: LinkOptions) -> None:
        self.robot = open_robot(options.robot)
        self.picture_size = (options.height, options.width)
        self.instruction = options.task.replace("_", " ")
        self.obstacles: tuple[Obstacle, ...] = (floor(),)
        self.facts: Mapping[str, Any] = {
            "hardware": {"link": "unitree", "interface": options.interface,
                         "domain": options.domain, "switch": SWITCH},
        }  # fmt: skip
        self._model = unitree_model(self.robot.name, self.robot.joint_names)
        motors = [self._model.motors.index(name) for name in self.robot.joint_names]
        self._motors = np.array(motors)
        self._arms = ArmModel(self.robot)
        self.told = tuple(self._arms.columns.tolist())
        self._arm_motors = self._motors[self._arms.columns].tolist()
        self.streams = self._streams()
        types = dds_types(self._model.family)
        self._link = DdsLink(
            {LOW_STATE_TOPIC: types.LowState},
            domain=options.domain,
            interface=options.interface,
            written={ARM_TOPIC: types.LowCmd},
        )
        self._told: NDArray[np.float64] | None = None
        self._share = 0.0
        self._heard_ns: int | None = None
        self._state = self._first_state(options)

    def read(self, now_ns: int) -> BodyState:
        """The newest state; where it must not be moved now, why."""
        for wire in self._link.take(0.0):
            self._state, self._heard_ns = read_low_state(wire.data, self._model.family), now_ns
        if self._heard_ns is None:
            self._heard_ns = now_ns
        joints = self._state["motor_state"]["q"][self._motors].astype(np.float64)
        blocked = ""
        if now_ns - self._heard_ns > _SILENT_NS:
            blocked = "the robot was not heard for 0.1 s"
        elif not is_remote_pressed(self._state["wireless_remote"], SWITCH):
            blocked = f"the live-man switch is not held: {SWITCH} of the robot's remote"
        return BodyState(now_ns, joints, self._base(), {}, blocked)

    def send(self, tick: Tick) -> SentCommand:
        """The arms, with the torques that gravity asks of them; more of them with every tick."""
        self._share = min(1.0, self._share + _TICK_S / _TAKE_S)
        self._told = tick.arms.positions.copy()
        self._write(tick.arms.positions, tick.arms.rates)
        joints = np.full(len(self._motors), np.nan)
        joints[self._arms.columns] = tick.arms.positions
        return SentCommand(joints, {}, np.zeros(3))

    def measure(self) -> dict[str, Any]:
        """Joints and IMU, as they were read last."""
        rows, imu = self._state["motor_state"][self._motors], self._state["imu_state"]
        moving = np.concatenate([imu["accelerometer"], imu["gyroscope"]])
        return {
            f"observations/{roles.JOINT_POSITION}": rows["q"],
            f"observations/{roles.JOINT_VELOCITY}": rows["dq"],
            f"observations/{roles.JOINT_TORQUE}": rows["tau_est"],
            f"observations/{self._model.imu}_imu": moving,
            f"observations/{self._model.imu}_orientation": imu["quaternion"],
        }

    def picture(self, camera: str) -> NDArray[np.uint8]:
        """It has no cameras here."""
        raise CorporealError(f"camera {camera!r}; expected none of a Unitree's link.")

    def things(self) -> list[NearbyThing]:
        """Nothing is known of its surroundings."""
        return []

    def begin_task(self) -> None:
        """People judge."""

    def judge_task(self) -> TaskResult | None:
        """People judge."""
        return None

    def put_back(self) -> bool:
        """People put things back."""
        return False

    def release_cameras(self) -> None:
        """It has none."""

    def close(self) -> None:
        """Give the arms back to the robot's own controller, then leave."""
        while self._told is not None and self._share > 0:
            self._share = max(0.0, self._share - _TICK_S / _GIVE_S)
            self._write(self._told, np.zeros(len(self._told)))
            time.sleep(_TICK_S)
        self._told = None
        self._link.close()

    def _write(self, positions: NDArray[np.float64], rates: NDArray[np.float64]) -> None:
        arms, count = self._arms, len(positions)
        arms.place(positions)
        command = MotorCommand(
            positions, rates, arms.efforts(np.zeros(count), np.zeros(count)),
            np.full(count, _STIFFNESS), np.full(count, _DAMPING),
        )  # fmt: skip
        data = write_arm_command(self._model, self._arm_motors, command, self._share)
        self._link.write(ARM_TOPIC, data)

    def _base(self) -> NDArray[np.float64]:
        """Where the base is: nobody measures its place, so it stands where robots stand."""
        base = np.zeros(7)
        base[2] = 0.0 if self.robot.standing is None else self.robot.standing.height
        turn = self._state["imu_state"]["quaternion"].astype(np.float64)
        length = float(np.linalg.norm(turn))
        base[3:] = turn / length if length > 0.5 else (1.0, 0.0, 0.0, 0.0)
        return base

    def _first_state(self, options: LinkOptions) -> Any:
        end_s = time.monotonic() + _FIRST_S
        while time.monotonic() < end_s:
            for wire in self._link.take(0.1):
                return read_low_state(wire.data, self._model.family)
        self._link.close()
        raise DdsError(
            f"Unitree {self._model.title} on domain {options.domain}, interface "
            f"{options.interface!r}, got nothing for {_FIRST_S:g} s; expected {LOW_STATE_TOPIC}. "
            "Switch it on and check cable, interface and domain, or try corporeal simulate-robot."
        )

    def _streams(self) -> tuple[Stream, ...]:
        joints = (
            Stream(name=name, group="observations", shape=("joints",), components="joints",
                   rate_hz=100.0, unit=unit)
            for name, unit in ((roles.JOINT_POSITION, "rad"), (roles.JOINT_VELOCITY, "rad/s"),
                               (roles.JOINT_TORQUE, "N m"))
        )  # fmt: skip
        imu, frames = self._model.imu, {frame.name for frame in self.robot.frames}
        frame = self._model.imu_frame if self._model.imu_frame in frames else None
        return (
            *joints,
            Stream(name=f"{imu}_imu", group="observations", shape=(6,), rate_hz=100.0, frame=frame,
                   components=_IMU, unit=("m/s2",) * 3 + ("rad/s",) * 3),
            Stream(name=f"{imu}_orientation", group="observations", shape=(4,), rate_hz=100.0,
                   frame=frame, components=roles.QUATERNION),
        )  # fmt: skip


ROBOT = RobotDriver(UnitreeRobot, ("g1", "h1"), is_hardware=True)
