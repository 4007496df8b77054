from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.embodiment import Mimic
from corporeal.embodiment.engines import PinocchioModel, compile_pinocchio
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import BLOCK, Kinematics, Poses
from corporeal.errors import ModelError, UnknownNameError
from corporeal.geometry import Array

PositionsOf = Callable[[Embodiment, int], Array]
BasesOf = Callable[[Embodiment, int], Array | None]

UPRIGHT = [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]


def _pinocchio_poses(compiled: PinocchioModel, names: list[str], kind: object, x: Array) -> Poses:
    model, data = compiled.model, compiled.model.createData()
    ids = [model.getFrameId(name, kind) for name in names]
    positions, rotations = np.empty((len(x), len(ids), 3)), np.empty((len(x), len(ids), 3, 3))
    for frame, configuration in enumerate(x):
        pin.framesForwardKinematics(model, data, configuration)
        for number, one in enumerate(ids):
            positions[frame, number] = data.oMf[one].translation
            rotations[frame, number] = data.oMf[one].rotation
    return Poses(tuple(names), positions, rotations)


def _assert_same(ours: Poses, theirs: Poses) -> None:
    assert ours.names == theirs.names
    np.testing.assert_allclose(ours.positions, theirs.positions, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.rotations, theirs.rotations, rtol=0, atol=1e-9)


def test_links_and_frames_are_where_pinocchio_puts_them(
    robot: Embodiment, positions_of: PositionsOf, bases_of: BasesOf
) -> None:
    q, base = positions_of(robot, 20), bases_of(robot, 20)
    kinematics, compiled = Kinematics(robot), compile_pinocchio(robot)
    x = compiled.configurations(q, base)
    links = [link.name for link in robot.links]
    frames = [frame.name for frame in robot.frames]
    body, place = pin.FrameType.BODY, pin.FrameType.OP_FRAME
    _assert_same(kinematics.link_poses(q, base), _pinocchio_poses(compiled, links, body, x))
    _assert_same(kinematics.frame_poses(q, base), _pinocchio_poses(compiled, frames, place, x))


def test_the_centre_of_mass_is_where_pinocchio_puts_it(
    robot: Embodiment, positions_of: PositionsOf, bases_of: BasesOf
) -> None:
    q, base = positions_of(robot, 20), bases_of(robot, 20)
    # Pinocchio leaves a fixed base out of the centre of mass, so let it float here.
    compiled = compile_pinocchio(robot.model_copy(update={"floating": True}))
    data = compiled.model.createData()
    x = compiled.configurations(q, base)
    theirs = [pin.centerOfMass(compiled.model, data, row).copy() for row in x]
    np.testing.assert_allclose(Kinematics(robot).centre_of_mass(q, base), theirs, atol=1e-9)
    assert pin.computeTotalMass(compiled.model) == pytest.approx(robot.mass)


def test_a_urdf_stands_as_pinocchios_own_reader_has_it(
    shared_data: Path, positions_of: PositionsOf
) -> None:
    file = shared_data / "models/unitree_g1/g1_29dof_rev_1_0_with_inspire_hand_DFQ.urdf"
    robot = open_robot(file)
    model = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
    data, x, q = model.createData(), pin.neutral(model), positions_of(robot, 1)
    kinematics = Kinematics(robot)
    for joint, position in zip(robot.joints, kinematics.joints.positions(q)[:, 0], strict=True):
        x[model.joints[model.getJointId(joint.name)].idx_q] = position
    pin.framesForwardKinematics(model, data, x)
    base = data.oMf[model.getFrameId(robot.base)]
    poses = kinematics.link_poses(q)
    for name in poses.names:
        theirs = base.actInv(data.oMf[model.getFrameId(name)])
        np.testing.assert_allclose(poses.position(name)[0], theirs.translation, atol=1e-9)
        np.testing.assert_allclose(poses.rotation(name)[0], theirs.rotation, atol=1e-9)


def test_pinocchio_has_the_limits_of_the_document(robot: Embodiment) -> None:
    compiled = compile_pinocchio(robot)
    lower = [-np.inf if joint.lower is None else joint.lower for joint in robot.joints]
    upper = [np.inf if joint.upper is None else joint.upper for joint in robot.joints]
    np.testing.assert_array_equal(compiled.model.lowerPositionLimit[compiled.positions], lower)
    np.testing.assert_array_equal(compiled.model.upperPositionLimit[compiled.positions], upper)


def test_the_columns_come_back_from_pinocchios_configurations(
    robot: Embodiment, positions_of: PositionsOf
) -> None:
    q = positions_of(robot, 3)
    compiled = compile_pinocchio(robot)
    np.testing.assert_array_equal(compiled.columns(compiled.configurations(q)), q)


def test_a_long_recording_is_the_same_as_its_pieces(
    humanoid: Embodiment, positions_of: PositionsOf
) -> None:
    q = positions_of(humanoid, BLOCK + 3)
    kinematics = Kinematics(humanoid)
    tail = kinematics.link_poses(q[BLOCK - 1 :])
    np.testing.assert_allclose(
        kinematics.link_poses(q).positions[BLOCK - 1 :], tail.positions, atol=1e-12
    )
    np.testing.assert_allclose(
        kinematics.centre_of_mass(q)[BLOCK - 1 :], kinematics.centre_of_mass(q[BLOCK - 1 :])
    )


def test_a_mimic_joint_follows_its_leader(humanoid: Embodiment) -> None:
    q = np.zeros((2, len(humanoid.joint_names)))
    q[1, humanoid.joint_names.index("left_slide_joint")] = 0.02
    follower = Kinematics(humanoid).link_poses(q).position("left_follow")
    elbow = Kinematics(humanoid).link_poses(q).rotation("left_elbow")[0]
    moved = elbow.T @ (follower[1] - follower[0])
    np.testing.assert_allclose(moved, [-0.016, 0, 0], atol=1e-12)


def test_a_passive_joint_stays_where_it_is_put(humanoid: Embodiment) -> None:
    q = np.zeros((1, len(humanoid.joint_names)))
    head = Kinematics(humanoid, {"neck_joint": np.pi / 2}).link_poses(q).rotation("head")[0]
    np.testing.assert_allclose(head @ [1, 0, 0], [0, 0, -1], atol=1e-12)
    with pytest.raises(UnknownNameError, match="neck_joint"):
        _ = Kinematics(humanoid, {"waist_joint": 0.1}).joints


def test_feet_and_hands_carry_the_documents_names(humanoid: Embodiment) -> None:
    q = np.zeros((1, len(humanoid.joint_names)))
    kinematics = Kinematics(humanoid)
    feet = kinematics.feet(q, [UPRIGHT])
    assert feet.names == ("left", "right")
    assert kinematics.end_effectors(q).names == ("left", "right")
    middle = feet.positions[0].mean(axis=0)
    np.testing.assert_allclose(middle, [1.04, 2.0, 3 - 0.06 - 0.05 - 0.02 - 0.64 - 0.08])


def test_a_broken_sensor_spoils_only_what_hangs_on_it(humanoid: Embodiment) -> None:
    q = np.zeros((3, len(humanoid.joint_names)))
    q[1, humanoid.joint_names.index("left_elbow_joint")] = np.nan
    poses = Kinematics(humanoid).link_poses(q)
    assert np.isfinite(poses.rotations[[0, 2]]).all()
    whole = {name for name in poses.names if np.isfinite(poses.rotation(name)[1]).all()}
    assert set(poses.names) - whole == {"left_elbow", "left_slide", "left_follow"}


def test_no_frames_give_no_poses(humanoid: Embodiment) -> None:
    q = np.zeros((0, len(humanoid.joint_names)))
    assert Kinematics(humanoid).link_poses(q).positions.shape == (0, len(humanoid.links), 3)
    assert Kinematics(humanoid).centre_of_mass(q).shape == (0, 3)


def test_standing_is_the_posture_and_otherwise_the_nearest_limit(humanoid: Embodiment) -> None:
    joints = [
        joint.model_copy(update={"lower": 0.25}) if joint.name == "left_knee_joint" else joint
        for joint in humanoid.joints
    ]
    standing = standing_positions(humanoid.model_copy(update={"joints": tuple(joints)}))
    at = dict(zip(humanoid.joint_names, standing, strict=True))
    assert at["left_shoulder_roll_joint"] == 0.3
    assert at["left_knee_joint"] == 0.25
    assert at["right_knee_joint"] == 0.0


def test_wrong_shapes_are_named(humanoid: Embodiment) -> None:
    kinematics, columns = Kinematics(humanoid), len(humanoid.joint_names)
    with pytest.raises(ModelError, match=r"got shape \(4, 3\); expected \(frames, 21\)"):
        kinematics.link_poses(np.zeros((4, 3)))
    with pytest.raises(ModelError, match=r"got shape \(5, 7\); expected \(4, 7\)"):
        kinematics.centre_of_mass(np.zeros((4, columns)), np.zeros((5, 7)))
    with pytest.raises(UnknownNameError, match="did you mean 'left_palm'"):
        kinematics.place("left_plam")
    with pytest.raises(UnknownNameError, match="left_ankle"):
        kinematics.link_poses(np.zeros((1, columns))).position("ankle")


def test_mimics_in_a_circle_are_refused(humanoid: Embodiment) -> None:
    joints = tuple(
        joint.model_copy(update={"mimic": Mimic(joint="left_follow_joint")})
        if joint.name == "left_slide_joint"
        else joint
        for joint in humanoid.joints
    )
    with pytest.raises(ModelError, match="in a circle"):
        _ = Kinematics(humanoid.model_copy(update={"joints": joints})).joints


def test_a_robot_without_masses_has_no_centre_of_mass(humanoid: Embodiment) -> None:
    links = tuple(link.model_copy(update={"inertia": None}) for link in humanoid.links)
    weightless = Kinematics(humanoid.model_copy(update={"links": links}))
    with pytest.raises(ModelError, match="0 kg"):
        weightless.centre_of_mass(np.zeros((1, len(humanoid.joint_names))))
