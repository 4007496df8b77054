"""Standing on two legs: leg angles that keep the centre of mass over the feet, no weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import Array, matrix_from_quaternion, matrix_from_rpy
from corporeal.simulation.gripper import SIDES
from corporeal.simulation.world import World

# The crouch: knees bent so that the pelvis can move both ways.
CROUCH = {"hip_pitch": -0.32, "knee": 0.66, "ankle_pitch": -0.34}
GRAVITY = 9.81
# Ankle strategy: radians of ankle per metre and per metre a second of the centre of mass.
ANKLE_RAD_M, ANKLE_RAD_M_S = 1.2, 0.45
# Hip strategy: how fast the pelvis is brought back over the feet (1/s), and how far it may go.
CENTRING_HZ, CENTRING_LIMIT_M = 0.8, 0.06
# Radians of pelvis per radian that it leans.
UPRIGHT = 0.5


@dataclass
class Sway:
    """Where the pelvis is asked to be, away from its usual place: metres, and yaw in radians."""

    forward_m: float = 0.0
    left_m: float = 0.0
    up_m: float = 0.0
    yaw_rad: float = 0.0


@dataclass(eq=False)
class Balance:
    """The state of the standing controller; `sway` may be changed at any time."""

    world: World
    sway: Sway = field(default_factory=Sway)

    def __post_init__(self) -> None:
        mujoco = import_mujoco()
        model = self.world.model
        self.legs = {side: self.world.joints(f"{side}_leg") for side in SIDES}
        self.soles = {side: int(model.site(f"{side}_sole").id) for side in SIDES}
        self.pelvis = int(model.body("pelvis").id)
        self.angles = crouch(self.world)
        joints = self.world.embodiment.actuated
        self._lower = np.array([-np.pi if joint.lower is None else joint.lower for joint in joints])
        self._upper = np.array([np.pi if joint.upper is None else joint.upper for joint in joints])
        self._scratch: Any = mujoco.MjData(model)
        self._jacobian = np.zeros((6, model.nv))
        self._centring = np.zeros(2)
        self._scratch.qpos[:] = model.qpos0
        self._nominal = {side: self._sole_in_pelvis(side) for side in SIDES}

    def targets(self, data: Any, dt_s: float) -> Array:
        """Angles (J,) of all joints, legs by feedback and the rest as in the crouch."""
        mujoco = import_mujoco()
        mujoco.mj_subtreeVel(self.world.model, data)
        error, speed = self._offset(data)
        self._centring -= CENTRING_HZ * dt_s * error
        np.clip(self._centring, -CENTRING_LIMIT_M, CENTRING_LIMIT_M, out=self._centring)
        lean = matrix_from_quaternion(
            data.qpos[self.world.base_qpos + 3 : self.world.base_qpos + 7]
        )
        turn = UPRIGHT * np.array([lean[2, 1], -lean[2, 0]])
        move = np.array([self.sway.forward_m, self.sway.left_m]) + self._centring
        pelvis = matrix_from_rpy((-turn[0], -turn[1], self.sway.yaw_rad))
        place = np.array([move[0], move[1], self.sway.up_m])
        for side in SIDES:
            self._solve_leg(side, pelvis, place)
        out = self.angles.copy()
        pitch = ANKLE_RAD_M * error[0] + ANKLE_RAD_M_S * speed[0]
        roll = ANKLE_RAD_M * error[1] + ANKLE_RAD_M_S * speed[1]
        for side in SIDES:
            out[self.legs[side][4]] += np.clip(pitch, -0.2, 0.2)
            out[self.legs[side][5]] -= np.clip(roll, -0.15, 0.15)
        inside: Array = np.clip(out, self._lower, self._upper)
        return inside

    def base_velocity(self) -> Array:
        """Zero (3,): it stands."""
        return np.zeros(3)

    def support_torque(self, data: Any) -> Array:
        """Torques (J,) that hold the robot still against gravity, the legs by what they carry.

        The weight goes through the ground right under the centre of mass, shared by the feet as
        a plank on two trestles would.
        """
        mujoco = import_mujoco()
        model = self.world.model
        torque = data.qfrc_bias.copy()
        com = data.subtree_com[self.pelvis]
        feet = {side: data.site_xpos[self.soles[side]] for side in SIDES}
        apart = feet["left"][:2] - feet["right"][:2]
        share = float((com[:2] - feet["right"][:2]) @ apart / max(float(apart @ apart), 1e-6))
        share = min(max(share, 0.0), 1.0)
        weight = GRAVITY * float(model.body_subtreemass[self.pelvis])
        for side, part in (("left", share), ("right", 1.0 - share)):
            point = np.array([com[0], feet[side][1], feet[side][2]])
            point[0] = np.clip(point[0], feet[side][0] - 0.09, feet[side][0] + 0.09)
            body = int(model.site_bodyid[self.soles[side]])
            rows = self._jacobian[:3]
            mujoco.mj_jac(model, data, rows, None, point, body)
            torque -= part * weight * rows[2]
        held: Array = torque[self.world.joint_qvel]
        return held

    def _offset(self, data: Any) -> tuple[Array, Array]:
        # In the axes of the pelvis' heading, because that is what the ankles can act along.
        feet = (data.site_xpos[self.soles["left"]] + data.site_xpos[self.soles["right"]]) / 2
        heading = data.xmat[self.pelvis].reshape(3, 3)[:2, 0]
        heading = heading / max(float(np.linalg.norm(heading)), 1e-6)
        axes = np.array([heading, (-heading[1], heading[0])])
        wanted = np.array([self.sway.forward_m, self.sway.left_m])
        error = axes @ (data.subtree_com[self.pelvis][:2] - feet[:2]) - wanted
        speed = axes @ data.subtree_linvel[self.pelvis][:2]
        return error, speed

    def _sole_in_pelvis(self, side: str) -> tuple[Array, Array]:
        mujoco = import_mujoco()
        self._scratch.qpos[self.world.joint_qpos] = self.angles
        mujoco.mj_kinematics(self.world.model, self._scratch)
        mujoco.mj_comPos(self.world.model, self._scratch)
        pelvis = self._scratch.xmat[self.pelvis].reshape(3, 3)
        sole = self._scratch.site_xpos[self.soles[side]] - self._scratch.xpos[self.pelvis]
        axes = self._scratch.site_xmat[self.soles[side]].reshape(3, 3)
        return pelvis.T @ sole, pelvis.T @ axes

    def _solve_leg(self, side: str, pelvis: Array, place: Array) -> None:
        # Moving the pelvis one way is moving the sole the other way in the pelvis' own axes.
        mujoco = import_mujoco()
        where, axes = self._nominal[side]
        wanted_place, wanted_axes = pelvis.T @ (where - place), pelvis.T @ axes
        here_place, here_axes = self._sole_in_pelvis(side)
        turn = 0.5 * np.sum(np.cross(here_axes.T, wanted_axes.T), axis=0)
        error = np.concatenate([wanted_place - here_place, turn])
        rows = self._jacobian
        mujoco.mj_jacSite(self.world.model, self._scratch, rows[:3], rows[3:], self.soles[side])
        jacobian = rows[:, self.world.joint_qvel[self.legs[side]]]
        squared = jacobian @ jacobian.T + 1e-5 * np.eye(6)
        change = jacobian.T @ np.linalg.solve(squared, error)
        self.angles[self.legs[side]] += np.clip(change, -0.1, 0.1)


def crouch(world: World) -> Array:
    """Angles (J,) of the standing posture: knees bent, forearms forward, hands above a table."""
    names = world.embodiment.joint_names
    angles = np.zeros(len(names))
    for side in SIDES:
        for joint, angle in CROUCH.items():
            angles[names.index(f"{side}_{joint}_joint")] = angle
        sign = 1.0 if side == "left" else -1.0
        for joint, angle in (
            ("shoulder_pitch", 0.35), ("shoulder_roll", 0.25 * sign), ("elbow", -0.25),
            ("wrist_pitch", 0.0),
        ):  # fmt: skip
            angles[names.index(f"{side}_{joint}_joint")] = angle
    return angles


def standing_start(world: World, angles: Array | None = None) -> Array:
    """MuJoCo's positions (nq,) of the robot with its soles on the floor at the origin.

    It is crouched, or with its joints at `angles` (J,).
    """
    mujoco = import_mujoco()
    data = mujoco.MjData(world.model)
    data.qpos[world.joint_qpos] = crouch(world) if angles is None else angles
    data.qpos[world.gripper_qpos] = 0.045
    mujoco.mj_kinematics(world.model, data)
    soles = [data.site_xpos[int(world.model.site(f"{side}_sole").id)] for side in SIDES]
    # Half a millimetre in: the contact is there from the first step.
    height = float(np.mean([sole[2] for sole in soles])) + 0.0005
    data.qpos[world.base_qpos + 2] -= height
    data.qpos[world.base_qpos] -= float(np.mean([sole[0] for sole in soles]))
    start: Array = data.qpos.copy()
    return start
