"""A walking policy from an ONNX file: what it sees, what its outputs mean."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.errors import MissingExtraError, ModelError
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.network_bounds import bounded_options
from corporeal.simulation.physics import Physics
from corporeal.simulation.world import World

# Radians: the posture that the policy's actions are measured from (holosoma's G1 preset).
DEFAULT_POSE = {
    "hip_pitch": -0.312, "knee": 0.669, "ankle_pitch": -0.363, "shoulder_pitch": 0.2,
    "left_shoulder_roll": 0.2, "right_shoulder_roll": -0.2, "elbow": 0.6,
}  # fmt: skip
ACTION_SCALE, ACTION_LIMIT = 0.25, 100.0
GYRO_SCALE, RATE_SCALE = 0.25, 0.05
GAIT_S = 1.0
# Slower than this is standing: the gait clock stops.
STILL = 0.01


class WalkingPolicy:
    """Follows a velocity command on two legs; `command` (3,) is forward, left (m/s), turn (rad/s).

    Observations are, in alphabetical order of their names: last actions, angular velocity of
    the pelvis, turn command, walk command, cosine of the two gait phases, joint angles away from
    the default pose, joint rates, gravity in the pelvis' axes, sine of the phases.
    """

    def __init__(self, world: World, path: Path) -> None:
        self.world = world
        self._session = _open(path)
        meta = self._session.get_modelmeta().custom_metadata_map
        names = _listed(meta, "dof_names", path)
        joints = world.embodiment.joint_names
        if sorted(names) != sorted(joints):
            raise ModelError(
                f"walking policy {path.name}, got joints that are not those of "
                f"{world.embodiment.name!r}; expected the same {len(joints)} names in any order. "
                "Use a policy for this robot."
            )
        # Column of the data for each output of the policy, and back.
        self._order = np.array([joints.index(name) for name in names])
        self._input = self._session.get_inputs()[0].name
        wanted = 3 * len(names) + 13
        if self._session.get_inputs()[0].shape[-1] != wanted:
            raise ModelError(
                f"walking policy {path.name}, got {self._session.get_inputs()[0].shape[-1]} "
                f"inputs; expected {wanted}. Use a velocity-command policy of that layout."
            )
        self.stiffness = self._to_data(np.array(_listed(meta, "kp", path), np.float64))
        self.damping = self._to_data(np.array(_listed(meta, "kd", path), np.float64))
        self.default = np.array([_default(name) for name in joints])
        self.command = np.zeros(3)
        self.arms_taken = False
        self._arms = np.concatenate([world.joints("left_arm"), world.joints("right_arm")])
        servos = world.model.actuator_biasprm[world.servos]
        self._own = -np.array([servos[:, 1], servos[:, 2]])
        self._action = np.zeros(len(names), np.float32)
        self._phase = np.array([np.pi, np.pi])
        self._still = True

    def targets(self, data: Any, dt_s: float) -> Array:
        """Angles (J,) for every joint; raises nothing, whatever the state."""
        self._advance_gait(dt_s)
        seen = self._observe(data)
        action = self._session.run(None, {self._input: seen[None]})[0][0]
        self._action = np.clip(action, -ACTION_LIMIT, ACTION_LIMIT).astype(np.float32)
        return self.default + self._to_data(ACTION_SCALE * self._action.astype(np.float64))

    def take_over(self, physics: Physics, *, arms: bool) -> None:
        """Give the servos the policy's gains; without `arms` those of the arms stay as they are."""
        self.arms_taken = not arms
        stiffness, damping = self.stiffness.copy(), self.damping.copy()
        if not arms:
            stiffness[self._arms], damping[self._arms] = self._own[:, self._arms]
        physics.set_gains(stiffness, damping)

    def support_torque(self, data: Any) -> Array:
        """Gravity of the arms (J,) while something else than the policy moves them."""
        torque = np.zeros(len(self.default))
        if self.arms_taken:
            torque[self._arms] = data.qfrc_bias[self.world.joint_qvel[self._arms]]
        return torque

    def base_velocity(self) -> Array:
        """The command (3,)."""
        return self.command.copy()

    def _advance_gait(self, dt_s: float) -> None:
        if np.linalg.norm(self.command[:2]) < STILL and abs(self.command[2]) < STILL:
            self._phase[:] = np.pi
            self._still = True
        elif self._still:
            self._phase[:] = (0.0, np.pi)
            self._still = False
        else:
            moved = self._phase + 2 * np.pi * dt_s / GAIT_S
            self._phase = np.fmod(moved + np.pi, 2 * np.pi) - np.pi

    def _observe(self, data: Any) -> Any:
        base = self.world.base_qpos
        upright = matrix_from_quaternion(data.qpos[base + 3 : base + 7])
        gyro = data.qvel[self.world.base_qvel + 3 : self.world.base_qvel + 6]
        angles = data.qpos[self.world.joint_qpos] - self.default
        rates = data.qvel[self.world.joint_qvel]
        if self.arms_taken:
            # It never met arms in other poses while learning, and runs away at the sight of them.
            angles[self._arms] = 0.0
            rates[self._arms] = 0.0
        angles, rates = angles[self._order], rates[self._order]
        parts = (
            self._action, GYRO_SCALE * gyro, self.command[2:], self.command[:2],
            np.cos(self._phase), angles, RATE_SCALE * rates, -upright[2], np.sin(self._phase),
        )  # fmt: skip
        return np.concatenate(parts).astype(np.float32)

    def _to_data(self, values: Array) -> Array:
        out = np.zeros(len(values))
        out[self._order] = values
        return out


def _default(name: str) -> float:
    return next((angle for part, angle in DEFAULT_POSE.items() if part in name), 0.0)


def _open(path: Path) -> Any:
    try:
        onnxruntime = import_module("onnxruntime")
        faults = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    except ModuleNotFoundError:
        raise MissingExtraError("onnxruntime", "vision") from None
    if not path.is_file():
        raise ModelError(
            f"walking policy, got {str(path)!r}; expected an ONNX file. Check the path."
        )
    try:
        return onnxruntime.InferenceSession(
            str(path), bounded_options(), providers=["CPUExecutionProvider"]
        )
    except (faults.Fail, faults.InvalidProtobuf, faults.InvalidGraph) as error:
        raise ModelError(
            f"walking policy {path.name} cannot be read, got: {error}; expected an ONNX file. "
            "Use the file that the training exported."
        ) from None


def _listed(meta: dict[str, str], key: str, path: Path) -> list[Any]:
    if key not in meta:
        raise ModelError(
            f"walking policy {path.name}, got no {key!r} in its metadata; expected dof_names, kp "
            "and kd. Export the policy with them."
        )
    try:
        found = json.loads(meta[key])
    except json.JSONDecodeError as error:
        raise ModelError(
            f"walking policy {path.name}, got {key!r} that is no JSON ({error}); expected a list. "
            "Export the policy again."
        ) from None
    return list(found)
