"""A body is found in skeletons whatever their joints are called, or a document says where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from corporeal.errors import DocumentError, UnknownNameError
from corporeal.geometry import matrix_from_rpy, rotation_angle
from corporeal.retargeting.motion import NEEDED, POINTS, SIDES, HumanMotion, MotionError
from corporeal.retargeting.person.hierarchy import Hierarchy, SkeletonJoint
from corporeal.retargeting.person.skeletal_motion import SkeletalClip, person_from_skeleton
from corporeal.retargeting.person.skeleton_map import SKELETONS, SkeletonMap
from corporeal.retargeting.person.skeleton_points import find_points
from corporeal.retargeting.reader import ClipHints

# A person in metres, x forward, y left, z up: (part, the part it hangs on, offset); a part that
# begins with * is there on both sides, mirrored.
BODY = (
    ("root", "", (0.0, 0.0, 0.95)),
    ("spine", "root", (0.0, 0.0, 0.12)),
    ("chest", "spine", (0.0, 0.0, 0.15)),
    ("neck", "chest", (0.0, 0.0, 0.22)),
    ("head", "neck", (0.02, 0.0, 0.10)),
    ("crown", "head", (0.0, 0.0, 0.18)),
    ("*clavicle", "chest", (0.0, 0.03, 0.18)),
    ("*shoulder", "*clavicle", (0.0, 0.15, 0.0)),
    ("*elbow", "*shoulder", (0.0, 0.29, 0.0)),
    ("*wrist", "*elbow", (0.0, 0.26, 0.0)),
    ("*knuckle", "*wrist", (0.0, 0.09, 0.0)),
    ("*thumb", "*wrist", (0.04, 0.03, 0.0)),
    ("*hip", "root", (0.0, 0.09, -0.05)),
    ("*knee", "*hip", (0.0, 0.0, -0.43)),
    ("*ankle", "*knee", (0.0, 0.0, -0.42)),
    ("*toe", "*ankle", (0.20, 0.0, -0.06)),
)
PARTS = tuple(part for part, _, _ in BODY)
# Names in the order of PARTS; @ stands for the side as that family writes it.
FAMILIES = {
    "mixamo": (
        "Left Right",
        "mixamorig:Hips mixamorig:Spine mixamorig:Spine2 mixamorig:Neck mixamorig:Head "
        "mixamorig:HeadTop_End mixamorig:@Shoulder mixamorig:@Arm mixamorig:@ForeArm "
        "mixamorig:@Hand mixamorig:@HandMiddle1 mixamorig:@HandThumb1 mixamorig:@UpLeg "
        "mixamorig:@Leg mixamorig:@Foot mixamorig:@ToeBase",
    ),
    "biovision": (
        "Left Right",
        "Hips Chest Chest2 Neck Head HeadEnd @Collar @Shoulder @Elbow @Wrist @Knuckles @Thumb "
        "@Hip @Knee @Ankle @Toe",
    ),
    "smpl": (
        "L R",
        "Pelvis Spine1 Spine3 Neck Head Head_end @_Collar @_Shoulder @_Elbow @_Wrist @_Hand "
        "@_Thumb @_Hip @_Knee @_Ankle @_Foot",
    ),
    "unreal": (
        "l r",
        "pelvis spine_01 spine_03 neck_01 head head_end clavicle_@ upperarm_@ lowerarm_@ hand_@ "
        "middle_01_@ thumb_01_@ thigh_@ calf_@ foot_@ ball_@",
    ),
    "rigify": (
        "L R",
        "spine spine.001 spine.003 neck head head_end shoulder.@ upper_arm.@ forearm.@ hand.@ "
        "middle.01.@ thumb.01.@ thigh.@ shin.@ foot.@ toe.@",
    ),
    "poser": (
        "l r",
        "hip abdomen chest neck head headEnd @Collar @Shldr @ForeArm @Hand @Mid1 @Thumb1 @Thigh "
        "@Shin @Foot @Toe",
    ),
    "optitrack": (
        "L R",
        "Hip Ab Chest Neck Head HeadEnd @Shoulder @UArm @FArm @Hand @Middle1 @Thumb1 @Thigh @Shin "
        "@Foot @Toe",
    ),
    "xsens": (
        "Left Right",
        "Pelvis L3 T8 Neck Head HeadTop @Shoulder @UpperArm @ForeArm @Hand @Middle @Thumb "
        "@UpperLeg @LowerLeg @Foot @Toe",
    ),
    "kinect": (
        "LEFT RIGHT",
        "SPINE_BASE SPINE_MID SPINE_SHOULDER NECK HEAD HEAD_TOP CLAVICLE_@ SHOULDER_@ ELBOW_@ "
        "WRIST_@ HAND_@ THUMB_@ HIP_@ KNEE_@ ANKLE_@ FOOT_@",
    ),
    "vrm": (
        "L R",
        "J_Bip_C_Hips J_Bip_C_Spine J_Bip_C_Chest J_Bip_C_Neck J_Bip_C_Head J_Bip_C_Head_end "
        "J_Bip_@_Shoulder J_Bip_@_UpperArm J_Bip_@_LowerArm J_Bip_@_Hand J_Bip_@_Middle1 "
        "J_Bip_@_Thumb1 J_Bip_@_UpperLeg J_Bip_@_LowerLeg J_Bip_@_Foot J_Bip_@_ToeBase",
    ),
    "bones": (
        "l r",
        "root lowerback thorax lowerneck head headtop @clavicle @humerus @radius @hand @fingers "
        "@thumb @femur @tibia @foot @toes",
    ),
    "biped": (  # ~ stands for a blank
        "L R",
        "Bip01~Pelvis Bip01~Spine Bip01~Spine1 Bip01~Neck Bip01~Head Bip01~HeadNub "
        "Bip01~@~Clavicle Bip01~@~UpperArm Bip01~@~Forearm Bip01~@~Hand Bip01~@~Finger2 "
        "Bip01~@~Finger0 Bip01~@~Thigh Bip01~@~Calf Bip01~@~Foot Bip01~@~Toe0",
    ),
}


def names_of(family: str) -> tuple[list[str], list[str]]:
    """How a family of skeletons writes left and right, and its names."""
    sides, names = FAMILIES[family]
    return sides.split(), [name.replace("~", " ") for name in names.split()]


def body(sides: Sequence[str], names: Sequence[str]) -> Hierarchy:
    """The person as a tree of joints with somebody's names, the root free to move."""
    called = dict(zip(PARTS, names, strict=True))
    joints: list[SkeletonJoint] = []
    index: dict[str, int] = {}
    column = 3
    for part, parent, offset in BODY:
        for side, sign in zip(sides, (1, -1), strict=True) if part[0] == "*" else [("", 1)]:
            above = index[parent.replace("*", f"{side}*")] if parent else -1
            place = np.array(offset) * [1, sign, 1]
            name = called[part].replace("@", side)
            rotations = tuple((axis, column + axis) for axis in (2, 1, 0))
            column += 3
            index[part.replace("*", f"{side}*")] = len(joints)
            moves = () if parent else ((0, 0), (1, 1), (2, 2))
            joints.append(SkeletonJoint(name, above, place, rotations, moves))
    return Hierarchy(tuple(joints))


def clip(hierarchy: Hierarchy, frames: int = 5) -> SkeletalClip:
    """The person standing still."""
    table = np.zeros((frames, 3 + 3 * len(hierarchy.joints)))
    table[:, :3] = hierarchy.joints[0].offset
    return SkeletalClip(Path("clip.bvh"), "bvh", hierarchy, table, 30.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_point_is_found_in_the_skeletons_that_people_use(family: str) -> None:
    sides, names = names_of(family)
    tree = body(sides, names)
    found = find_points(tree).points
    called = dict(zip(PARTS, names, strict=True))
    for side, written in zip(SIDES, sides, strict=True):
        for part in ("hip", "knee", "ankle", "toe", "shoulder", "elbow", "wrist"):
            (joint,) = found[f"{side}_{part}"]
            assert tree.names[joint] == called[f"*{part}"].replace("@", written)
        assert called["*knuckle"].replace("@", written) in [
            tree.names[each] for each in found[f"{side}_hand"]
        ]
    assert [tree.names[each] for each in found["neck"]] == [called["neck"]]
    assert tree.names[found["head"][0]] == called["head"]
    assert tree.names[found["chest"][0]] == called["chest"]
    assert not set(NEEDED) - set(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_standing_person_has_its_left_on_the_left_and_its_axes_upright(family: str) -> None:
    motion = person_from_skeleton(clip(body(*names_of(family))), ClipHints())
    for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist"):
        across = motion.point(f"left_{part}") - motion.point(f"right_{part}")
        assert np.all(across[:, 1] > 0.1)
    for name in ("pelvis", "chest", "head", "left_foot", "right_foot"):
        np.testing.assert_allclose(motion.rotations[name][0], np.eye(3), atol=1e-9)
    for side, sign in zip(SIDES, (1, -1), strict=True):
        fingers, _, back = motion.rotations[f"{side}_hand"][0].T
        np.testing.assert_allclose(fingers, [0, sign, 0], atol=1e-9)
        np.testing.assert_allclose(back, [0, 0, 1], atol=1e-9)


def test_the_pelvis_is_between_the_hips_and_not_the_root() -> None:
    motion = person_from_skeleton(clip(body(*names_of("mixamo"))), ClipHints())
    np.testing.assert_allclose(motion.point("pelvis")[0], [0, 0, 0.90], atol=1e-9)


def test_rotations_follow_the_joints_whatever_the_file_takes_for_up() -> None:
    tree = body(*names_of("mixamo"))
    given = clip(tree)
    yaw_pitch_roll = np.array([40.0, 20.0, -10.0])
    given.table[:, 3:6] = yaw_pitch_roll[::-1]
    motion = person_from_skeleton(given, ClipHints(up="z"))
    expected = matrix_from_rpy(np.radians([-10.0, 20.0, 40.0]))
    assert float(np.max(rotation_angle(motion.rotations["pelvis"], expected))) < 1e-9
    lying = person_from_skeleton(given, ClipHints(up="y"))
    up = lying.rotations["pelvis"][0].T @ [0, 0, 1]
    np.testing.assert_allclose(up, expected.T @ [0, 1, 0], atol=1e-9)


def test_a_rest_pose_that_is_no_pose_of_a_body_gives_points_but_no_wrong_rotations() -> None:
    """All bones along x, the pose in the angles: LAFAN's skeletons are like this."""
    upright = body(*names_of("mixamo"))
    frames = [np.eye(3) for _ in upright.joints]
    for index, joint in enumerate(upright.joints):
        children = upright.children[index]
        frames[index] = _along_x(upright.joints[children[0]].offset if children else joint.offset)
    joints, table = [], np.zeros((12, 3 + 9 * len(upright.joints)))
    table[:, :3] = upright.joints[0].offset
    for index, joint in enumerate(upright.joints):
        above = frames[joint.parent] if joint.parent >= 0 else np.eye(3)
        turned = SkeletonJoint(
            joint.name, joint.parent, above.T @ joint.offset, joint.rotations, joint.moves
        )
        local = above.T @ frames[index]
        angles = np.degrees(_zyx(local))
        for axis, column in joint.rotations:
            table[:, column] = angles[axis]
        joints.append(turned)
    motion = person_from_skeleton(
        SkeletalClip(Path("l.bvh"), "bvh", Hierarchy(tuple(joints)), table, 30.0), ClipHints()
    )
    straight = person_from_skeleton(clip(upright), ClipHints())
    np.testing.assert_allclose(motion.positions[0], straight.positions[0], atol=1e-9)
    # Only frames that stand tell how these feet lie.
    np.testing.assert_allclose(motion.rotations["left_foot"][0], np.eye(3), atol=1e-6)
    for name, rotation in motion.rotations.items():
        assert float(rotation_angle(rotation[0], straight.rotations[name][0])) < np.radians(25), (
            name
        )


def _along_x(vector: np.ndarray) -> np.ndarray:
    x = vector / np.linalg.norm(vector)
    helper = np.array([0.0, 1.0, 0.0]) if abs(x[1]) < 0.9 else np.array([0.0, 0.0, 1.0])
    z = np.cross(x, helper) / np.linalg.norm(np.cross(x, helper))
    return np.stack([x, np.cross(z, x), z], axis=1)


def _zyx(matrix: np.ndarray) -> np.ndarray:
    pitch = np.arcsin(np.clip(-matrix[2, 0], -1, 1))
    if abs(matrix[2, 0]) > 1 - 1e-12:
        return np.array([0.0, pitch, np.arctan2(-matrix[0, 1], matrix[1, 1])])
    return np.array(
        [np.arctan2(matrix[2, 1], matrix[2, 2]), pitch, np.arctan2(matrix[1, 0], matrix[0, 0])]
    )


def test_names_that_say_nothing_are_asked_for_and_a_document_answers(tmp_path: Path) -> None:
    tree = Hierarchy(
        tuple(
            SkeletonJoint(f"j{at}", joint.parent, joint.offset, joint.rotations, joint.moves)
            for at, joint in enumerate(body(*names_of("mixamo")).joints)
        )
    )
    with pytest.raises(MotionError, match=r"left_knee.*j0, j1.*--skeleton"):
        person_from_skeleton(clip(tree), ClipHints())
    known = body(*names_of("mixamo"))
    points = find_points(known).points
    lines = [f"  {name}: {[f'j{each}' for each in joints]}" for name, joints in points.items()]
    document = tmp_path / "mine.yaml"
    text = "document: skeleton\nname: mine\nversion: 1.0.0\npoints:\n" + "\n".join(lines)
    document.write_text(text, encoding="utf-8")
    motion = person_from_skeleton(clip(tree), ClipHints(skeleton=str(document)))
    expected = person_from_skeleton(clip(known), ClipHints())
    np.testing.assert_allclose(motion.positions, expected.positions)
    assert motion.origin.skeleton == "mine@1.0.0"
    assert {"pelvis", "chest", "left_foot"} <= set(motion.rotations)


def test_a_document_may_name_only_what_anatomy_gets_wrong(tmp_path: Path) -> None:
    document = tmp_path / "hand.yaml"
    document.write_text(
        "document: skeleton\nname: hand\nversion: 1.0.0\npoints: {left_hand: LeftHandThumb1}\n",
        encoding="utf-8",
    )
    motion = person_from_skeleton(
        clip(body(*names_of("mixamo"))), ClipHints(skeleton=str(document))
    )
    np.testing.assert_allclose(
        (motion.point("left_hand") - motion.point("left_wrist"))[0], [0.04, 0.03, 0], atol=1e-9
    )
    assert motion.has("right_hand")


def test_a_document_for_another_skeleton_says_which_joints_are_not_there() -> None:
    with pytest.raises(MotionError, match=r"cmu_asf@1.0.0 names .*lfemur"):
        person_from_skeleton(clip(body(*names_of("mixamo"))), ClipHints(skeleton="cmu_asf"))


def test_a_document_with_an_unknown_point_lists_the_known_ones() -> None:
    text = "document: skeleton\nname: a\nversion: 1.0.0\npoints: {left_toes: LeftToe}\n"
    with pytest.raises(DocumentError, match=r"left_toes.*left_toe"):
        SkeletonMap.parse(text)


def test_an_unknown_skeleton_lists_the_built_in_ones() -> None:
    with pytest.raises(UnknownNameError, match="cmu_asf"):
        SKELETONS.open("cmu")


@pytest.mark.parametrize("name", SKELETONS.names)
def test_a_built_in_document_is_called_as_its_file(name: str) -> None:
    assert SKELETONS.open(name).name == name


def test_joints_that_only_turn_the_skin_are_no_joints_of_a_body() -> None:
    tree = body(*names_of("unreal"))
    joints = list(tree.joints)
    for side in "lr":
        elbow = tree.names.index(f"lowerarm_{side}")
        joints.append(SkeletonJoint(f"lowerarm_twist_01_{side}", elbow, np.array([0, 0.1, 0])))
        joints.append(SkeletonJoint(f"upperarm_twist_01_{side}", joints[elbow].parent, np.zeros(3)))
    found = find_points(Hierarchy(tuple(joints))).points
    assert found == find_points(tree).points


def test_frames_with_numbers_that_are_none_are_unknown_and_noted() -> None:
    given = clip(body(*names_of("mixamo")), frames=6)
    given.table[2, 4] = np.nan
    given.table[3, 0] = 1e30
    motion: HumanMotion = person_from_skeleton(given, ClipHints())
    assert np.all(motion.confidence[2:4] == 0)
    known = [name for name in POINTS if motion.has(name)]
    assert all(np.all(motion.seen(name)[[0, 1, 4, 5]] == 1) for name in known)
    assert any("2 of 6 frames" in note for note in motion.origin.notes)


def test_of_several_skeletons_in_a_file_one_must_be_named() -> None:
    one = body(*names_of("mixamo")).joints
    shift = len(one)
    two = [
        SkeletonJoint(
            f"other:{joint.name}",
            joint.parent + shift if joint.parent >= 0 else -1,
            joint.offset,
            joint.rotations,
            joint.moves,
        )
        for joint in one
    ]
    both = Hierarchy((*one, *two))
    table = np.zeros((4, 3 + 3 * shift))
    table[:, 2] = 0.95
    given = SkeletalClip(Path("two.bvh"), "bvh", both, table, 30.0)
    with pytest.raises(MotionError, match=r"2 skeletons .*--person"):
        person_from_skeleton(given, ClipHints())
    motion = person_from_skeleton(given, ClipHints(person="other:mixamorig:Hips"))
    assert motion.has("left_hand")
