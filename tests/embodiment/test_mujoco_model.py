from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.dynamics import gravity_torques
from corporeal.embodiment.embodiment import Inertia
from corporeal.embodiment.engines import to_mjcf
from corporeal.embodiment.engines.mujoco_model import compile_mujoco, standing_qpos
from corporeal.errors import ModelError
from corporeal.geometry import Array

PositionsOf = Callable[[Embodiment, int], Array]
BasesOf = Callable[[Embodiment, int], Array | None]


def test_the_compiled_robot_weighs_and_is_driven_as_the_document_says(robot: Embodiment) -> None:
    model = compile_mujoco(robot).model
    assert model.body_mass.sum() == pytest.approx(robot.mass, abs=1e-4)
    assert [model.actuator(n).name for n in range(model.nu)] == list(robot.joint_names)
    for joint in robot.joints:
        compiled = model.joint(joint.name)
        if joint.lower is not None and joint.upper is not None:
            assert tuple(compiled.range) == pytest.approx((joint.lower, joint.upper))
        else:
            assert not compiled.limited[0]
    for joint in robot.actuated:
        if joint.effort is not None:
            span = model.actuator(joint.name).ctrlrange
            assert tuple(span) == pytest.approx((-joint.effort, joint.effort))


def test_links_sites_and_gravity_are_ours(
    robot: Embodiment, positions_of: PositionsOf, bases_of: BasesOf
) -> None:
    q, base = positions_of(robot, 5), bases_of(robot, 5)
    compiled = compile_mujoco(robot)
    data, kinematics = mujoco.MjData(compiled.model), compiled.kinematics
    links, frames = kinematics.link_poses(q, base), kinematics.frame_poses(q, base)
    torques = gravity_torques(kinematics, q, base)
    for frame, qpos in enumerate(compiled.qpos(q, base)):
        data.qpos = qpos
        mujoco.mj_forward(compiled.model, data)
        for name in links.names:
            np.testing.assert_allclose(data.body(name).xpos, links.position(name)[frame], atol=1e-6)
        for name in frames.names:
            there = data.site(name)
            np.testing.assert_allclose(there.xpos, frames.position(name)[frame], atol=1e-6)
            turn = there.xmat.reshape(3, 3)
            np.testing.assert_allclose(turn, frames.rotation(name)[frame], atol=1e-6)
        bias = data.qfrc_bias[compiled.rates][:, None]
        held = kinematics.joints.efforts(bias, q.shape[1])[0]
        np.testing.assert_allclose(held, torques[frame], atol=1e-6)


def test_a_standing_robot_touches_nothing_of_its_own(robot: Embodiment) -> None:
    compiled = compile_mujoco(robot)
    data = mujoco.MjData(compiled.model)
    data.qpos = standing_qpos(compiled)
    mujoco.mj_forward(compiled.model, data)
    assert data.ncon == 0
    if robot.floating and robot.standing is not None:
        assert data.body(robot.base).xpos[2] == pytest.approx(robot.standing.height)


def test_only_the_tested_pairs_of_links_touch_each_other(
    robot: Embodiment, positions_of: PositionsOf
) -> None:
    compiled = compile_mujoco(robot)
    model, data = compiled.model, mujoco.MjData(compiled.model)
    touching = set()
    for qpos in compiled.qpos(positions_of(robot, 100)):
        data.qpos = qpos
        mujoco.mj_forward(model, data)
        for contact in data.contact:
            touching.add(frozenset(model.body(model.geom_bodyid[g]).name for g in contact.geom))
    assert touching
    assert touching <= {frozenset(pair) for pair in CollisionModel(robot).pairs}


def test_a_mimic_joint_is_held_to_its_leader(humanoid: Embodiment) -> None:
    compiled = compile_mujoco(humanoid)
    assert compiled.model.neq == 2
    q = np.zeros((1, len(humanoid.joint_names)))
    q[0, humanoid.joint_names.index("left_slide_joint")] = 0.02
    data = mujoco.MjData(compiled.model)
    data.qpos = compiled.qpos(q)[0]
    mujoco.mj_forward(compiled.model, data)
    rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    assert rows.sum() == 2
    np.testing.assert_allclose(data.efc_pos[rows], 0.0, atol=1e-12)


def test_rotors_add_armature(humanoid: Embodiment) -> None:
    model = compile_mujoco(humanoid, armature={"waist_joint": 0.07}).model
    assert model.dof_armature[model.joint("waist_joint").dofadr[0]] == 0.07
    assert model.dof_armature.sum() == pytest.approx(0.07)


def test_the_same_document_gives_the_same_text(humanoid: Embodiment) -> None:
    assert to_mjcf(humanoid) == to_mjcf(humanoid)


def test_a_link_without_inertia_still_moves(humanoid: Embodiment) -> None:
    links = tuple(
        link.model_copy(update={"inertia": None}) if link.name == "left_slide" else link
        for link in humanoid.links
    )
    lighter = humanoid.model_copy(update={"links": links})
    assert compile_mujoco(lighter).model.body_mass.sum() == pytest.approx(lighter.mass, abs=1e-4)


def test_a_fixed_base_named_world_is_mujocos_world(humanoid: Embodiment) -> None:
    renamed = humanoid.canonical().replace('"pelvis"', '"world"')
    fixed = Embodiment.parse(renamed, suffix=".json").model_copy(update={"floating": False})
    compiled = compile_mujoco(fixed)
    assert compiled.model.nq == len(fixed.joints)
    data = mujoco.MjData(compiled.model)
    data.qpos = standing_qpos(compiled)
    mujoco.mj_forward(compiled.model, data)
    assert data.ncon == 0


def test_an_impossible_inertia_is_refused_by_name(humanoid: Embodiment) -> None:
    negative = Inertia(mass=1.0, matrix=(-1.0, 0.0, 0.0, -1.0, 0.0, -1.0))
    torso = next(link for link in humanoid.links if link.name == "torso")
    links = tuple(
        link.model_copy(update={"inertia": negative}) if link is torso else link
        for link in humanoid.links
    )
    with pytest.raises(ModelError, match="'small_humanoid' does not compile in MuJoCo"):
        compile_mujoco(humanoid.model_copy(update={"links": links}))
