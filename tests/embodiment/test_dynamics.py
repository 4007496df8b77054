from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from corporeal.embodiment import Embodiment
from corporeal.embodiment.dynamics import GRAVITY, gravity_torques, inverse_dynamics
from corporeal.embodiment.engines import compile_pinocchio
from corporeal.embodiment.engines.mujoco_model import MujocoModel, compile_mujoco
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import ModelError
from corporeal.geometry import Array, matrix_from_quaternion

PositionsOf = Callable[[Embodiment, int], Array]
BasesOf = Callable[[Embodiment, int], Array | None]


def _mujoco_efforts(compiled: MujocoModel, qpos: Array, qvel: Array, qacc: Array) -> Array:
    model, data = compiled.model, mujoco.MjData(compiled.model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    out = np.empty_like(qvel)
    for frame in range(len(qpos)):
        data.qpos, data.qvel, data.qacc = qpos[frame], qvel[frame], qacc[frame]
        mujoco.mj_inverse(model, data)
        out[frame] = data.qfrc_inverse
    return out


def test_the_efforts_of_a_motion_are_mujocos(
    robot: Embodiment, positions_of: PositionsOf, bases_of: BasesOf
) -> None:
    frames = 8
    q, base = positions_of(robot, frames), bases_of(robot, frames)
    random = np.random.default_rng(3)
    dq, ddq = random.normal(size=(2, *q.shape))
    moving, gaining = random.normal(size=(2, frames, 6))
    compiled = compile_mujoco(robot)
    qvel, qacc = np.zeros((2, frames, compiled.model.nv))
    qvel[:, compiled.rates] = compiled.kinematics.joints.rates(dq).T
    qacc[:, compiled.rates] = compiled.kinematics.joints.rates(ddq).T
    if base is not None:
        # MuJoCo's free joint: linear in the world's axes, angular in the body's.
        turn = matrix_from_quaternion(base[:, 3:])
        for ours, theirs in ((moving, qvel), (gaining, qacc)):
            theirs[:, :3] = ours[:, :3]
            theirs[:, 3:6] = np.einsum("tji,tj->ti", turn, ours[:, 3:])
    expected = _mujoco_efforts(compiled, compiled.qpos(q, base), qvel, qacc)
    floating = {} if base is None else {"base_velocity": moving, "base_acceleration": gaining}
    efforts = inverse_dynamics(compile_pinocchio(robot), q, dq, ddq, base=base, **floating)
    joints = compiled.kinematics.joints.efforts(expected[:, compiled.rates].T, q.shape[1])
    np.testing.assert_allclose(efforts.joints, joints, atol=1e-6)
    if base is not None:
        np.testing.assert_allclose(efforts.base[:, :3], expected[:, :3], atol=1e-6)
        moment = np.einsum("tij,tj->ti", turn, expected[:, 3:6])
        np.testing.assert_allclose(efforts.base[:, 3:], moment, atol=1e-6)


def test_gravity_is_all_that_a_robot_at_rest_feels(
    robot: Embodiment, positions_of: PositionsOf, bases_of: BasesOf
) -> None:
    q, base = positions_of(robot, 8), bases_of(robot, 8)
    still = np.zeros_like(q)
    efforts = inverse_dynamics(compile_pinocchio(robot), q, still, still, base=base)
    np.testing.assert_allclose(
        gravity_torques(Kinematics(robot), q, base), efforts.joints, atol=1e-9
    )
    if robot.floating:
        weight = np.tile([0.0, 0.0, GRAVITY * robot.mass], (8, 1))
        np.testing.assert_allclose(efforts.base[:, :3], weight, atol=1e-9)


def test_the_ground_carries_a_standing_robot(humanoid: Embodiment) -> None:
    q = standing_positions(humanoid)[None]
    base = np.array([[0.3, -2.0, 0.9, 1.0, 0.1, -0.05, 0.2]])
    kinematics, still = Kinematics(humanoid), np.zeros_like(q)
    force = np.array([0.0, 0.0, GRAVITY * humanoid.mass])
    arm = kinematics.centre_of_mass(q, base)[0] - kinematics.feet(q, base).position("left")[0]
    ground = {"left_sole": np.concatenate([force, np.cross(arm, force)])[None]}
    model = compile_pinocchio(humanoid)
    carried = inverse_dynamics(model, q, still, still, base=base, wrenches=ground)
    hung = inverse_dynamics(model, q, still, still, base=base)
    np.testing.assert_allclose(carried.base, 0.0, atol=1e-9)
    changed = np.abs(carried.joints - hung.joints)[0] > 1e-9
    names = {name for name, moved in zip(humanoid.joint_names, changed, strict=True) if moved}
    assert names == {name for name in humanoid.joint_names if "left_hip" in name} | {
        "left_knee_joint",
        "left_ankle_joint",
    }


def test_a_wrench_is_felt_through_the_jacobian(
    humanoid: Embodiment, positions_of: PositionsOf, bases_of: BasesOf
) -> None:
    q, base = positions_of(humanoid, 4), bases_of(humanoid, 4)
    still, wrench = np.zeros_like(q), np.random.default_rng(0).normal(size=(4, 6))
    compiled = compile_pinocchio(humanoid)
    free = inverse_dynamics(compiled, q, still, still, base=base)
    pushed = inverse_dynamics(compiled, q, still, still, base=base, wrenches={"right_palm": wrench})
    model, data = compiled.model, compiled.model.createData()
    palm = model.getFrameId("right_palm")
    for frame, x in enumerate(compiled.configurations(q, base)):
        jacobian = pin.computeFrameJacobian(model, data, x, palm, pin.LOCAL_WORLD_ALIGNED)
        efforts = (jacobian.T @ wrench[frame])[compiled.rates]
        felt = compiled.kinematics.joints.efforts(efforts[:, None], q.shape[1])[0]
        np.testing.assert_allclose(free.joints[frame] - pushed.joints[frame], felt, atol=1e-9)
    np.testing.assert_allclose(free.base[:, :3] - pushed.base[:, :3], wrench[:, :3], atol=1e-9)


def test_a_fixed_robot_may_hang_at_an_angle(
    humanoid: Embodiment, positions_of: PositionsOf, bases_of: BasesOf
) -> None:
    q, base = positions_of(humanoid, 4), bases_of(humanoid, 4)
    rates = np.random.default_rng(0).normal(size=(2, *q.shape))
    fixed = compile_pinocchio(humanoid.model_copy(update={"floating": False}))
    floating = inverse_dynamics(compile_pinocchio(humanoid), q, *rates, base=base)
    mounted = inverse_dynamics(fixed, q, *rates, base=base)
    np.testing.assert_allclose(mounted.joints, floating.joints, atol=1e-9)
    with pytest.raises(ModelError, match="is fixed"):
        inverse_dynamics(fixed, q, *rates, base_velocity=np.zeros((4, 6)))


def test_streams_of_different_length_are_refused(humanoid: Embodiment) -> None:
    q = np.zeros((4, len(humanoid.joint_names)))
    compiled = compile_pinocchio(humanoid)
    with pytest.raises(ModelError, match="4 frames of positions, got 3 frames"):
        inverse_dynamics(compiled, q, q[:3], q)
    with pytest.raises(ModelError, match=r"'left_sole' do not fit 4 frames, got shape \(6,\)"):
        inverse_dynamics(compiled, q, q, q, wrenches={"left_sole": np.zeros(6)})
