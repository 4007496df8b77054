"""TWIST2: a general tracker of whole-body motion for the Unitree G1 with 29 joints, 50 Hz."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array, matrix_from_quaternion, rpy_from_matrix
from corporeal.retargeting.motion import SIDES
from corporeal.retargeting.tracking.physics import Servos
from corporeal.retargeting.tracking.reference import ReferenceMotion
from corporeal.retargeting.tracking.tracker import SensedState, Tracker

HISTORY = 10
TURNING_SCALE, RATE_SCALE, ACTION_SCALE = 0.25, 0.05, 0.5
LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch",
       "wrist_yaw")  # fmt: skip
# Per joint of a leg, the waist and an arm: the posture that actions are added to, N m/rad,
# N m s/rad, and kg m2 of rotor, as its authors run it in MuJoCo.
POSTURE = ((-0.2, 0, 0, 0.4, -0.2, 0), (0, 0, 0), (0, 0.4, 0, 1.2, 0, 0, 0))
STIFFNESS = ((100, 100, 100, 150, 40, 40), (150, 150, 150), (40, 40, 40, 40, 4, 4, 4))
DAMPING = ((2, 2, 2, 4, 2, 2), (4, 4, 4), (5, 5, 5, 5, 0.2, 0.2, 0.2))
ARMATURE = (
    (0.0102, 0.0251, 0.0102, 0.0251, 0.00722, 0.00722),
    (0.0102, 0.00722, 0.00722),
    (0.00361, 0.00361, 0.00361, 0.00361, 0.00361, 0.00425, 0.00425),
)
JOINTS = (
    *(f"{side}_{part}_joint" for side in SIDES for part in LEG),
    *(f"waist_{axis}_joint" for axis in ("yaw", "roll", "pitch")),
    *(f"{side}_{part}_joint" for side in SIDES for part in ARM),
)
ANKLES = np.array(["ankle" in name for name in JOINTS])
# Of one instant: the command (6 of the base, all joints), and what the robot feels.
COMMAND = 6 + len(JOINTS)
FELT = 3 + 2 + 3 * len(JOINTS)
INPUTS = (1 + HISTORY) * (COMMAND + FELT) + COMMAND


class Twist2:
    """A follower that remembers its last ten observations and its last action."""

    def __init__(self, reference: ReferenceMotion) -> None:
        # The network is told where the motion will be when its action has had time to work.
        commands = _commands(reference)
        self.commands = np.concatenate([commands[1:], commands[-1:]])
        self.action = np.zeros(len(JOINTS))
        self.seen: deque[Array] = deque(maxlen=HISTORY)

    def observe(self, state: SensedState, frame: int) -> NDArray[np.float32]:
        """Now, the past from the oldest on, and the command once more where a future would be."""
        command = self.commands[frame]
        rates = np.where(ANKLES, 0.0, state.rates)
        now = np.concatenate(
            [
                command,
                TURNING_SCALE * state.angular_velocity,
                rpy_from_matrix(matrix_from_quaternion(state.quaternion))[:2],
                state.q - REST,
                RATE_SCALE * rates,
                self.action,
            ]
        )
        if not self.seen:
            self.seen.extend([now] * HISTORY)
        whole = np.concatenate([now, *self.seen, command])
        self.seen.append(now)
        return whole.astype(np.float32)

    def targets(self, action: Array) -> Array:
        """Joint angles: the posture plus half of the action."""
        self.action = action
        return REST + ACTION_SCALE * np.clip(action, -10.0, 10.0)


def _commands(reference: ReferenceMotion) -> Array:
    rotations = reference.rotations
    velocity = np.einsum("tji,tj->ti", rotations, reference.velocity)
    roll_pitch = rpy_from_matrix(rotations)[:, :2]
    columns = [reference.robot.joint_names.index(name) for name in JOINTS]
    parts = [
        velocity[:, :2],
        reference.base[:, 2:3],
        roll_pitch,
        reference.angular_velocity[:, 2:3],
    ]
    return np.column_stack([*parts, reference.q[:, columns]])


def _both_sides(leg: tuple[float, ...], waist: tuple[float, ...], arm: tuple[float, ...]) -> Array:
    return np.array([*leg, *leg, *waist, *arm, *arm], np.float64)


# The arms of the posture are mirrored: rolls have opposite signs.
REST = _both_sides(*POSTURE) * np.where(
    ["right" in name and ("roll" in name or "yaw" in name) for name in JOINTS], -1.0, 1.0
)
TRACKER = Tracker(
    description="Unitree G1, 29 joints, 50 Hz",
    inputs=INPUTS,
    outputs=len(JOINTS),
    joints=JOINTS,
    rate_hz=50.0,
    servos=Servos(
        stiffness=_both_sides(*STIFFNESS),
        damping=_both_sides(*DAMPING),
        effort=_both_sides(*STIFFNESS),
        armature=dict(zip(JOINTS, _both_sides(*ARMATURE).tolist(), strict=True)),
    ),
    follow=Twist2,
)
