"""The robot of our own document on a flat floor in MuJoCo, its joints driven by servos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Joint
from corporeal.embodiment.engines import import_mujoco, to_mjcf
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import ModelError
from corporeal.geometry import Array

LONGEST_STEP_S = 0.002
GRAVITY = 9.81
FLOOR = "floor"
FRICTION = 0.9
# kg m2 of rotor behind the gears per N m of effort, about what makers publish for their motors.
ARMATURE_PER_EFFORT, LEAST_ARMATURE, USUAL_ARMATURE = 1.5e-4, 0.003, 0.01


@dataclass(frozen=True)
class Servos:
    """Gains of every actuated joint, in its order: N m/rad, N m s/rad, N m; rotors in kg m2."""

    stiffness: Array
    damping: Array
    effort: Array
    armature: Mapping[str, float]


class PhysicsScene:
    """A robot on the floor in motion: `place` puts it somewhere, `act` moves it on.

    `steps` steps of physics make one sample of a motion at `rate_hz`.
    """

    def __init__(self, robot: Embodiment, servos: Servos, *, rate_hz: float) -> None:
        mujoco = import_mujoco()
        self.robot = robot
        self.steps = int(np.ceil(1 / (rate_hz * LONGEST_STEP_S) - 1e-6))
        self.model: Any = _compile(robot, servos, 1 / (rate_hz * self.steps))
        self.data: Any = mujoco.MjData(self.model)
        joints = [self.model.joint(name) for name in robot.joint_names]
        self.positions = _integers(joint.qposadr[0] for joint in joints)
        self.rates = _integers(joint.dofadr[0] for joint in joints)
        self.weight_n = GRAVITY * float(self.model.body_subtreemass[0])
        self._all_positions = _integers(
            self.model.joint(joint.name).qposadr[0] for joint in robot.joints
        )
        self._kinematics = Kinematics(robot)
        self._floor = int(self.model.geom(FLOOR).id)
        names = self._kinematics.names
        self._feet = [
            int(self.model.body(names[self._kinematics.place(place)[0]]).id)
            for place in robot.feet.values()
        ]

    @property
    def q(self) -> Array:
        """Joint positions (J,)."""
        return np.asarray(self.data.qpos[self.positions].copy())

    @property
    def base(self) -> Array:
        """Pose (7,) of the base: x y z qw qx qy qz."""
        return np.asarray(self.data.qpos[:7].copy())

    def place(
        self, q: Array, base: Array, rates: Array, velocity: Array, angular_velocity: Array
    ) -> float:
        """Put the robot into a state, lifted out of the floor; returns by how many metres."""
        mujoco = import_mujoco()
        mujoco.mj_resetData(self.model, self.data)
        self.pose(q, base)
        self.data.qvel[self.rates] = rates
        self.data.qvel[:3], self.data.qvel[3:6] = velocity, angular_velocity
        self.data.ctrl[:] = q
        mujoco.mj_forward(self.model, self.data)
        lift = max((0.0, *(-float(contact.dist) for contact in self.on_floor())))
        self.data.qpos[2] += lift
        mujoco.mj_forward(self.model, self.data)
        return lift

    def pose(self, q: Array, base: Array) -> None:
        """Set the positions of all joints and the base, and nothing else."""
        self.data.qpos[self._all_positions] = self._kinematics.joints.positions(q[None])[:, 0]
        self.data.qpos[:7] = base

    def act(self, target: Array, steps: int) -> None:
        """Drive the joints towards `target` (J,) for some steps of physics."""
        mujoco = import_mujoco()
        self.data.ctrl[:] = target
        mujoco.mj_step(self.model, self.data, nstep=steps)

    def standing(self) -> Array:
        """Whether each foot (F,) touches the floor, in the order of the document."""
        down = {self.body_of(contact) for contact in self.on_floor()}
        return np.array([float(body in down) for body in self._feet])

    def on_floor(self) -> list[Any]:
        """MuJoCo's contacts between the robot and the floor."""
        contacts = (self.data.contact[index] for index in range(self.data.ncon))
        return [one for one in contacts if self._floor in (one.geom1, one.geom2)]

    def body_of(self, contact: Any) -> int:
        """The number of the body that a contact with the floor is on."""
        geom = contact.geom2 if contact.geom1 == self._floor else contact.geom1
        return int(self.model.geom_bodyid[geom])


def usual_armature(joint: Joint) -> float:
    """The rotor's inertia in kg m2 (kg for a slide) of a joint whose maker does not say."""
    if joint.effort is None:
        return USUAL_ARMATURE
    return max(LEAST_ARMATURE, ARMATURE_PER_EFFORT * joint.effort)


def _compile(robot: Embodiment, servos: Servos, step_s: float) -> Any:
    mujoco = import_mujoco()
    root = ElementTree.fromstring(to_mjcf(robot, armature=servos.armature))  # nosec B314
    fields = {"timestep": repr(step_s), "integrator": "implicitfast", "gravity": f"0 0 -{GRAVITY}"}
    ElementTree.SubElement(root, "option", fields)
    world = root.find("worldbody")
    floor = {"name": FLOOR, "type": "plane", "size": "0 0 1", "priority": "1"}
    if world is not None:
        rubbing = {"friction": f"{FRICTION} 0.005 0.0001"}
        ElementTree.SubElement(world, "geom", {**floor, **rubbing})
    try:
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    except ValueError as error:
        raise ModelError(
            f"robot {robot.name!r} does not compile in MuJoCo, got: {error}; "
            "expected a model it can simulate. Correct the document where MuJoCo points."
        ) from None
    _drive(model, robot, servos)
    return model


def _drive(model: Any, robot: Embodiment, servos: Servos) -> None:
    # MuJoCo integrates the damping of such servos implicitly, which a torque of ours would not be.
    mujoco = import_mujoco()
    numbers = [int(model.actuator(name).id) for name in robot.joint_names]
    model.actuator_biastype[numbers] = mujoco.mjtBias.mjBIAS_AFFINE
    model.actuator_gainprm[numbers, 0] = servos.stiffness
    model.actuator_biasprm[numbers, 1] = -servos.stiffness
    model.actuator_biasprm[numbers, 2] = -servos.damping
    model.actuator_ctrllimited[numbers] = 0
    limited = np.isfinite(servos.effort)
    model.actuator_forcelimited[numbers] = limited
    largest = np.where(limited, servos.effort, 0.0)
    model.actuator_forcerange[numbers] = np.column_stack([-largest, largest])


def _integers(values: Any) -> NDArray[np.int64]:
    return np.array([int(value) for value in values], np.int64)
