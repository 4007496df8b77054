"""A tiny world and a run made by formula: fast, and every number is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.engines import to_mjcf
from corporeal.embodiment.engines.mujoco_model import compile_mujoco, standing_qpos
from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.simulation.run import Event, RunOutcome, SimulatedRun, Touch

STEP_S = 0.002
DURATION_S = 1.0
PLACES = {
    "left_wrist": "left_wrist_yaw_link",
    "right_wrist": "right_wrist_yaw_link",
    "left_ankle": "left_ankle_roll_link",
    "right_ankle": "right_ankle_roll_link",
}
# Position and the directions of the picture's right and up in the frame of the body.
CAMERAS = {
    "head_left": ("torso_link", (0.1, 0.03, 0.45), (0, -1, 0, 0.6, 0, 0.8)),
    "head_right": ("torso_link", (0.1, -0.03, 0.45), (0, -1, 0, 0.6, 0, 0.8)),
    "head_depth": ("torso_link", (0.1, 0.0, 0.45), (0, -1, 0, 0.6, 0, 0.8)),
    "external_front": ("world", (2.5, 0.0, 1.2), (0, 1, 0, 0, 0, 1)),
    "external_side": ("world", (0.5, -2.5, 1.2), (1, 0, 0, 0, 0, 1)),
}


@dataclass(frozen=True, eq=False)
class TinyWorld:
    """A robot, a floor, a wall, a table and a red ball."""

    model: Any
    embodiment: Embodiment
    sensors: dict[str, slice]
    joint_qpos: NDArray[np.int64]
    joint_qvel: NDArray[np.int64]
    objects: tuple[str, ...]
    object_qpos: dict[str, int]


@pytest.fixture(scope="session")
def tiny_world() -> TinyWorld:
    robot = open_robot("g1")
    spec = mujoco.MjSpec.from_string(to_mjcf(robot))
    spec.visual.quality.shadowsize = 0
    spec.visual.quality.offsamples = 0
    _add_scene(spec)
    torso, pelvis = spec.body("torso_link"), spec.body("pelvis")
    pelvis.add_site(name="pelvis_imu")
    torso.add_site(name="head_imu", pos=[0.05, 0, 0.4])
    torso.add_site(name="lidar", pos=[0, 0, 0.55])
    for name in ("pelvis_imu", "head_imu"):
        _add_sensor(spec, f"{name}_acc", mujoco.mjtSensor.mjSENS_ACCELEROMETER, name)
        _add_sensor(spec, f"{name}_gyro", mujoco.mjtSensor.mjSENS_GYRO, name)
    for name, body in PLACES.items():
        spec.body(body).add_site(name=name)
        _add_sensor(spec, f"{name}_force", mujoco.mjtSensor.mjSENS_FORCE, name)
        _add_sensor(spec, f"{name}_torque", mujoco.mjtSensor.mjSENS_TORQUE, name)
    for name, (body, place, axes) in CAMERAS.items():
        spec.body(body).add_camera(name=name, pos=place, quat=_facing(axes), fovy=60.0)
    model = spec.compile()
    sensors = {
        model.sensor(i).name: slice(
            int(model.sensor_adr[i]), int(model.sensor_adr[i] + model.sensor_dim[i])
        )
        for i in range(model.nsensor)
    }
    joints = [model.joint(name) for name in robot.joint_names]
    return TinyWorld(
        model,
        robot,
        sensors,
        np.array([int(joint.qposadr[0]) for joint in joints]),
        np.array([int(joint.dofadr[0]) for joint in joints]),
        ("ball",),
        {"ball": int(model.joint("ball").qposadr[0])},
    )


@pytest.fixture(scope="session")
def tiny_run(tiny_world: TinyWorld) -> SimulatedRun:
    """One second: arms swing, the ball flies to the side; a pad carries 10 N for half of it."""
    model = tiny_world.model
    time_s: Array = np.arange(round(DURATION_S / STEP_S) + 1, dtype=np.float64) * STEP_S
    count = len(time_s)
    stand = standing_qpos(compile_mujoco(tiny_world.embodiment))
    qpos = np.tile(model.qpos0, (count, 1))
    qpos[:, : len(stand)] = stand
    elbow = tiny_world.joint_qpos[tiny_world.embodiment.joint_names.index("left_elbow_joint")]
    qpos[:, elbow] += 0.4 * np.sin(2 * np.pi * time_s)
    ball = int(model.joint("ball").qposadr[0])
    qpos[:, ball : ball + 3] = [0.6, -0.3, 1.0]
    qpos[:, ball + 1] += 0.6 * time_s
    qvel = np.stack([_velocity(model, qpos, row) for row in range(count)])
    qacc = np.gradient(qvel, STEP_S, axis=0)
    pressed = np.arange(count // 2, count)
    return SimulatedRun(
        world=cast(Any, tiny_world),
        task="reach",
        instruction="reach for the red ball",
        time_s=time_s,
        qpos=qpos,
        qvel=qvel,
        qacc=qacc,
        sensordata=_sensordata(model, qpos, qvel, qacc),
        target_rad=qpos[:, tiny_world.joint_qpos] + 0.01,
        torque_nm=0.1 * qpos[:, tiny_world.joint_qpos],
        gripper_target=np.tile([0.08, 0.02], (count, 1)),
        gripper=np.stack([0.08 - 0.05 * time_s, np.full(count, 0.02)], axis=1),
        base_velocity_target=np.zeros((count, 3)),
        touch=Touch(
            np.repeat(pressed, 2),
            np.tile([0, 1], len(pressed)),
            np.tile([[0.0, 0.0], [0.5, -0.5]], (len(pressed), 1)),
            np.tile([10.0, 4.0], len(pressed)),
            np.tile([0, 1], len(pressed)),
        ),
        events=(Event(0.25, "grasp", "left hand"), Event(0.5, "lift")),
        outcome=RunOutcome(False, "drop", {"lift_height_m": 0.12}),
        variation={"seed": 1},
    )


def _add_scene(spec: Any) -> None:
    world, geom = spec.worldbody, mujoco.mjtGeom
    world.add_light(pos=[1, 0, 4], dir=[0, 0, -1])
    world.add_geom(name="floor", type=geom.mjGEOM_PLANE, size=[5, 5, 0.1], rgba=[0.4, 0.4, 0.4, 1])
    wall = {"pos": [3, 0, 1], "size": [0.1, 3, 1], "rgba": [0.6, 0.6, 0.7, 1]}
    world.add_geom(name="wall", type=geom.mjGEOM_BOX, **wall)
    table = {"pos": [0.7, 0, 0.35], "size": [0.3, 0.5, 0.35], "rgba": [0.5, 0.4, 0.3, 1]}
    world.add_geom(name="table", type=geom.mjGEOM_BOX, **table)
    ball = world.add_body(name="ball", pos=[0.6, -0.3, 1.0])
    ball.add_freejoint(name="ball")
    look = {"size": [0.05, 0, 0], "rgba": [0.9, 0.05, 0.05, 1], "mass": 0.1}
    ball.add_geom(name="ball", type=geom.mjGEOM_SPHERE, **look)


def _facing(axes: tuple[float, ...]) -> Array:
    right, up = np.array(axes[:3]), np.array(axes[3:])
    return quaternion_from_matrix(np.stack([right, up, np.cross(right, up)], axis=1))


def _add_sensor(spec: Any, name: str, kind: Any, site: str) -> None:
    spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site)


def _velocity(model: Any, qpos: Array, row: int) -> Array:
    before, after = max(row - 1, 0), min(row + 1, len(qpos) - 1)
    velocity = np.zeros(model.nv)
    mujoco.mj_differentiatePos(
        model, velocity, (after - before) * STEP_S, qpos[before], qpos[after]
    )
    return velocity


def _sensordata(model: Any, qpos: Array, qvel: Array, qacc: Array) -> Array:
    data = mujoco.MjData(model)
    rows = []
    for position, velocity, acceleration in zip(qpos, qvel, qacc, strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = position, velocity, acceleration
        mujoco.mj_inverse(model, data)
        rows.append(data.sensordata.copy())
    return np.array(rows)
