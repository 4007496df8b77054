from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.description.inertia import combined, inertia_matrix, moved
from corporeal.embodiment.description.urdf import read_urdf
from corporeal.embodiment.embodiment import Inertia
from corporeal.errors import ModelError
from corporeal.geometry import Array, matrix_from_rpy
from corporeal.xml_text import MAX_BYTES

ARM = """<robot name="Small Arm 2">
  <link name="base">
    <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="upper"/>
  <link name="tool">
    <inertial>
      <origin xyz="0 0 0.1" rpy="0 0 1.5707963267948966"/><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="3"/>
    </inertial>
    <collision>
      <origin xyz="0 0 0.2"/><geometry><cylinder radius="0.1" length="0.4"/></geometry>
    </collision>
    <collision><geometry><mesh filename="package://arm/meshes/tool.stl"/></geometry></collision>
    <collision><geometry><sphere radius="0"/></geometry></collision>
  </link>
  <link name="finger"/>
  <link name="thumb"/>
  <joint name="slide" type="prismatic">
    <parent link="tool"/><child link="finger"/><axis xyz="0 2 0"/>
    <limit lower="0" upper="0.04" effort="0" velocity="0"/>
  </joint>
  <joint name="turn" type="continuous">
    <origin xyz="0 0 0.5" rpy="0 0 0.3"/><parent link="base"/><child link="upper"/>
    <axis xyz="0 0 1"/><limit effort="5" velocity="3" lower="-1" upper="1"/>
  </joint>
  <joint name="weld" type="fixed">
    <origin xyz="1 0 0" rpy="1.5707963267948966 0 0"/><parent link="upper"/><child link="tool"/>
  </joint>
  <joint name="follow" type="prismatic">
    <parent link="tool"/><child link="thumb"/><mimic joint="slide" multiplier="-1"/>
  </joint>
</robot>"""


def _write(folder: Path, text: str) -> Path:
    path = folder / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    return path


def test_joints_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    robot = read_urdf(_write(tmp_path, ARM))
    assert [joint.name for joint in robot.joints] == ["slide", "turn", "follow"]
    assert robot.joint_names == ("slide", "turn")
    assert (robot.name, robot.base, robot.floating) == ("small_arm_2", "base", False)


def test_a_continuous_joint_has_no_position_limits(tmp_path: Path) -> None:
    turn = read_urdf(_write(tmp_path, ARM)).joints[1]
    assert (turn.type, turn.lower, turn.upper) == ("revolute", None, None)
    assert (turn.velocity, turn.effort) == (3, 5)


def test_zero_effort_and_velocity_are_not_stated(tmp_path: Path) -> None:
    slide = read_urdf(_write(tmp_path, ARM)).joints[0]
    assert (slide.velocity, slide.effort, slide.upper) == (None, None, 0.04)
    assert slide.axis == (0, 1, 0)


def test_a_fixed_link_is_lumped_and_stays_as_a_frame(tmp_path: Path) -> None:
    robot = read_urdf(_write(tmp_path, ARM))
    (frame,) = robot.frames
    assert (frame.name, frame.link, frame.xyz) == ("tool", "upper", (1, 0, 0))
    upper = next(link for link in robot.links if link.name == "upper")
    assert upper.inertia is not None
    assert upper.inertia.com == pytest.approx((1, -0.1, 0))
    # Turned by yaw in the file and by roll of the weld: (2, 1, 3) about x, y, z, then (2, 3, 1).
    assert upper.inertia.matrix == pytest.approx((2, 0, 0, 3, 0, 1), abs=1e-9)
    (cylinder,) = upper.collision
    assert cylinder.size == (0.1, 0.4)
    assert cylinder.xyz == pytest.approx((1, -0.2, 0))
    slide = robot.joints[0]
    assert (slide.parent, slide.xyz) == ("upper", (1, 0, 0))


def test_only_absent_meshes_are_listed(tmp_path: Path) -> None:
    path = _write(tmp_path, ARM)
    assert read_urdf(path).missing_meshes == ("package://arm/meshes/tool.stl",)
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "tool.stl").touch()
    assert read_urdf(path).missing_meshes == ()


def test_a_mesh_outside_the_package_counts_as_missing(tmp_path: Path) -> None:
    folder = tmp_path / "package" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "tool.stl").touch()
    text = ARM.replace("package://arm/meshes/tool.stl", str(tmp_path / "tool.stl"))
    assert len(read_urdf(_write(folder, text)).missing_meshes) == 1


def test_a_floating_joint_at_the_root_makes_the_base_float(tmp_path: Path) -> None:
    root = (
        '<link name="odom"/><joint name="float" type="floating">'
        '<parent link="odom"/><child link="base"/></joint></robot>'
    )
    robot = read_urdf(_write(tmp_path, ARM.replace("</robot>", root)))
    assert (robot.base, robot.floating, len(robot.joints)) == ("base", True, 3)


def test_legs_float_though_the_file_holds_them_by_the_world(
    shared_data: Path, tmp_path: Path
) -> None:
    text = (shared_data / "models/unitree_g1/g1_23dof_rev_1_0.urdf").read_text("utf-8")
    assert read_urdf(_write(tmp_path, text)).floating
    root = (
        '<link name="world"/><joint name="weld_to_world" type="fixed">'
        '<parent link="world"/><child link="pelvis"/></joint></robot>'
    )
    robot = read_urdf(_write(tmp_path, text.replace("</robot>", root)))
    assert (robot.base, robot.floating) == ("pelvis", True)
    assert robot.description is not None
    assert "taken to float" in robot.description
    arm = (
        '<robot name="arm"><link name="world"/><link name="base"/><joint name="weld" type="fixed">'
    )
    arm += '<parent link="world"/><child link="base"/></joint><link name="rod"/><joint name="turn" '
    arm += 'type="continuous"><parent link="base"/><child link="rod"/></joint></robot>'
    robot = read_urdf(_write(tmp_path, arm))
    assert (robot.base, robot.floating, robot.description) == ("base", False, None)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<parent link="base"/>', '<parent link="bone"/>', "joint 'turn': parent link, got 'bone'"),
        ('<parent link="base"/>', "", "joint 'turn': no <parent link=...>"),
        ('<parent link="base"/>', '<parent link="finger"/>', "loop"),
        ('<link name="thumb"/>', '<link name="thumb"/><link name="lost"/>', "'base', 'lost'"),
        ('<link name="thumb"/>', '<link name="tool"/>', "link 'tool' is there twice"),
        ('<child link="thumb"/>', '<child link="finger"/>', "hangs on joints 'slide' and 'follow'"),
        ('xyz="0 0 0.5"', 'xyz="0 0 nan"', "joint 'turn': origin xyz: got '0 0 nan'"),
        ('xyz="0 0 0.5"', 'xyz="0 0"', "expected 3 finite numbers"),
        ('xyz="0 2 0"', 'xyz="0 0 0"', "joint 'slide': axis"),
        ('type="continuous"', 'type="planar"', "joint 'turn': type, got 'planar'"),
        ('type="continuous"', 'type="floating"', "joint 'turn' is floating"),
        ('type="continuous"', 'type="screw"', "expected one of: revolute, continuous"),
        ('upper="0.04"', 'upper="-0.04"', "lower limit 0.0 is above upper limit -0.04"),
        ('<mass value="2"/>', '<mass value="-2"/>', "mass"),
        ('joint="slide"', 'joint="glide"', "mimic of 'follow' names 'glide'"),
        ('joint="slide"', 'joint="follow"', "mimics itself"),
        ('radius="0.1"', 'radius="-0.1"', "greater than 0"),
        ("<robot", "<!DOCTYPE robot><robot", "DOCTYPE"),
        ("<robot", '<?xml version="1.0" encoding="klingon"?><robot', "not valid XML"),
        ('name="Small Arm 2"', 'name="x"><xacro:macro/', "xacro"),
        ('link name="finger"', f'link name="{"f" * 200}"', "expected a <link>"),
    ],
)
def test_a_broken_file_is_named_with_its_fault(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    assert old in ARM
    path = _write(tmp_path, ARM.replace(old, new, 1))
    with pytest.raises(ModelError) as caught:
        read_urdf(path)
    assert words in str(caught.value)
    assert "robot.urdf" in str(caught.value)


def test_two_loops_apart_from_the_root_are_refused(tmp_path: Path) -> None:
    loop = "".join(
        f'<link name="{a}"/><joint name="{a}{b}" type="fixed">'
        f'<parent link="{a}"/><child link="{b}"/></joint>'
        for a, b in ("xy", "yx")
    )
    with pytest.raises(ModelError, match="2 links form a loop"):
        read_urdf(_write(tmp_path, ARM.replace("</robot>", loop + "</robot>")))


@pytest.mark.parametrize("text", ["", "<robot/>", "<mujoco/>", "<a>" * 1000, "no xml", "\0"])
def test_what_is_no_robot_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        read_urdf(_write(tmp_path, text))


def test_a_missing_file_and_a_huge_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_urdf(tmp_path / "none.urdf")
    with (tmp_path / "huge.urdf").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ModelError, match="more than"):
        read_urdf(tmp_path / "huge.urdf")


def test_a_truncated_urdf_ends_in_a_model_error(tmp_path: Path, shared_data: Path) -> None:
    raw = (shared_data / "models/unitree_h1/h1_2_description/h1_2_handless.urdf").read_bytes()
    path = tmp_path / "cut.urdf"
    for size in range(0, len(raw.rstrip()) - 1, 977):
        path.write_bytes(raw[:size])
        with pytest.raises(ModelError):
            read_urdf(path)


def test_a_urdf_with_a_changed_byte_is_read_or_refused(tmp_path: Path) -> None:
    raw = ARM.encode()
    random = np.random.default_rng(7)
    path = tmp_path / "changed.urdf"
    refused = 0
    for _ in range(400):
        changed = bytearray(raw)
        changed[random.integers(len(raw))] = random.integers(256)
        path.write_bytes(changed)
        try:
            read_urdf(path)
        except ModelError:
            refused += 1
    assert 50 < refused < 400


@given(
    mass=st.floats(0.1, 50),
    share=st.floats(0.1, 0.9),
    angles=st.tuples(*[st.floats(-3, 3)] * 3),
    shift=st.tuples(*[st.floats(-2, 2)] * 3),
)
def test_lumping_keeps_the_inertia_about_any_point(
    mass: float,
    share: float,
    angles: tuple[float, float, float],
    shift: tuple[float, float, float],
) -> None:
    into = np.eye(4)
    into[:3, :3], into[:3, 3] = matrix_from_rpy(angles), shift
    one = Inertia(mass=mass * share, com=(0.1, 0, 0), matrix=(1, 0.1, 0, 2, 0, 2.5))
    two = moved(Inertia(mass=mass * (1 - share), com=(0, 0.2, 0), matrix=(3, 0, 0, 3, 0, 4)), into)
    whole = combined([one, two])
    assert whole is not None
    assert whole.mass == pytest.approx(mass)
    about_origin = _about_origin(one) + _about_origin(two)
    np.testing.assert_allclose(_about_origin(whole), about_origin, rtol=1e-6, atol=1e-6)
    weights = np.linalg.eigvalsh(inertia_matrix(two))
    np.testing.assert_allclose(weights, [3, 3, 4], atol=1e-9)


def _about_origin(inertia: Inertia) -> Array:
    arm = np.asarray(inertia.com)
    matrix: Array = inertia_matrix(inertia) + inertia.mass * (
        arm @ arm * np.eye(3) - np.outer(arm, arm)
    )
    return matrix


def test_the_document_says_of_joints_that_follow_that_they_have_no_motor(
    shared_data: Path,
) -> None:
    robot = read_urdf(shared_data / "models/unitree_g1/g1_29dof_rev_1_0_with_inspire_hand_DFQ.urdf")
    stated = [joint["name"] for joint in json.loads(robot.canonical())["joints"]
              if joint.get("actuated", True)]  # fmt: skip
    assert len(robot.joints) == 53
    assert stated == list(robot.joint_names)
    assert len(stated) == 41


def test_a_document_of_old_that_says_otherwise_opens_as_it_is() -> None:
    robot = open_robot("aloha")
    old = robot.canonical().replace('"actuated":false', '"actuated":true')
    assert old != robot.canonical()
    opened = Embodiment.parse(old)
    assert opened.joint_names == robot.joint_names
    assert opened.canonical() == old


def _chain(*kinds: str, mass_kg: float = 0.0) -> str:
    """Links in a row from `root` on; a kind is the type of a joint and its axis, `slide x`."""
    inertial = f'<inertial><mass value="{mass_kg}"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    text, parent = '<link name="root"/>', "root"
    for number, kind in enumerate(kinds):
        name, axis = kind.split()
        vector = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}[axis]
        turns = {"slide": "prismatic", "turn": "continuous"}[name]
        text += f'<link name="l{number}">{inertial if mass_kg else ""}</link>'
        text += f'<joint name="j{number}" type="{turns}"><parent link="{parent}"/>'
        text += f'<child link="l{number}"/><axis xyz="{vector}"/></joint>'
        parent = f"l{number}"
    return f'<robot name="chain">{text}</robot>'


SIX = ("slide x", "slide y", "slide z", "turn z", "turn y", "turn x")


def test_six_joints_of_a_floating_base_are_no_joints_of_the_robot(tmp_path: Path) -> None:
    robot = read_urdf(_write(tmp_path, _chain(*SIX, "turn y")))
    assert (robot.base, robot.floating, robot.joint_names) == ("l5", True, ("j6",))
    assert robot.description == "Six joints that only let the base float are left out: it floats."


def test_six_joints_that_move_masses_or_share_an_axis_are_the_robot_itself(tmp_path: Path) -> None:
    heavy = read_urdf(_write(tmp_path, _chain(*SIX, "turn y", mass_kg=3.0)))
    assert (len(heavy.joints), heavy.floating) == (7, False)
    twice = read_urdf(_write(tmp_path, _chain(*SIX[:-1], "turn z", "turn y")))
    assert (len(twice.joints), twice.floating) == (7, False)


def test_a_spherical_joint_is_read_as_three_hinges(tmp_path: Path) -> None:
    text = ARM.replace('type="continuous"', 'type="spherical"', 1)
    robot = read_urdf(_write(tmp_path, text))
    assert robot.joint_names == ("slide", "turn_x", "turn_y", "turn_z")
    assert robot.description == "Ball joints are read as three hinges about x, y and z: turn."


def test_a_leader_named_without_its_side_is_the_one_of_the_same_side(tmp_path: Path) -> None:
    text = ARM.replace('name="slide"', 'name="left_slide"').replace('"follow"', '"left_follow"')
    robot = read_urdf(_write(tmp_path, text))
    (follower,) = [joint for joint in robot.joints if joint.mimic is not None]
    assert follower.mimic is not None
    assert (follower.mimic.joint, follower.actuated) == ("left_slide", False)
    assert robot.description == "left_follow follows left_slide; the file leaves out its side."
