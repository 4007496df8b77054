from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.embodiment import Embodiment
from corporeal.embodiment.description.assembly import pose, pose_of
from corporeal.embodiment.description.mjcf import read_mjcf
from corporeal.embodiment.description.mjcf_joints import PASSIVE_BALLS
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import ModelError
from corporeal.geometry import Array, matrix_from_quaternion

mujoco = pytest.importorskip("mujoco")

# Offset anchors, a reference position, degrees, three joints in one body, a weld, a site.
ODD = """<mujoco model="odd">
  <compiler angle="degree"/>
  <default><geom type="capsule" size="0.02 0.1"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="table" pos="3 0 0"><geom type="box" size="1 1 1"/></body>
    <body name="trunk" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.3"/>
      <body name="arm" pos="0 0.2 0.1" euler="30 0 20">
        <joint name="swing" axis="0 1 0" pos="0 0.05 0.1" range="-90 45" ref="20"/>
        <geom pos="0 0 -0.1"/>
        <geom contype="0" conaffinity="0" group="1"/>
        <body name="wrist" pos="0 0 -0.3">
          <joint name="wrist_x" axis="1 0 0" pos="0 0 0.01"/>
          <joint name="wrist_y" axis="0 1 0" pos="0 0.02 0"/>
          <joint name="wrist_slide" type="slide" axis="0 0 1" range="0 0.1" ref="0.03"/>
          <geom fromto="0 0 0 0.1 0 0"/>
          <body name="tool" pos="0.1 0 0" euler="0 0 90">
            <geom type="sphere" size="0.03"/><site name="tip" pos="0 0 0.05" euler="0 10 0"/>
          </body>
          <body name="finger" pos="0 0.1 0">
            <joint name="finger" axis="0 0 1"/><geom/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <contact><exclude body1="trunk" body2="tool"/></contact>
  <equality><joint joint1="wrist_y" joint2="finger" polycoef="0.1 2 0 0 0"/></equality>
  <actuator>
    <position name="p" joint="wrist_y" ctrlrange="-1 1" forcerange="-7 7"/>
    <motor name="m" joint="swing" gear="10" ctrllimited="true" ctrlrange="-2 2"/>
    <position name="q" joint="wrist_x" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
</mujoco>"""


def _write(folder: Path, text: str, name: str = "robot.xml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _link_poses(robot: Embodiment, positions: dict[str, float]) -> dict[str, Array]:
    poses = {robot.base: np.eye(4)}
    waiting = list(robot.joints)
    while waiting:
        joint = next(joint for joint in waiting if joint.parent in poses)
        waiting.remove(joint)
        q, axis = positions[joint.name], np.array(joint.axis)
        turn = matrix_from_quaternion([np.cos(q / 2), *(np.sin(q / 2) * axis)])
        moved = pose(q * axis) if joint.type == "prismatic" else pose(rotation=turn)
        poses[joint.child] = poses[joint.parent] @ pose_of(joint) @ moved
    return poses


def test_the_document_moves_as_mujoco_moves_the_file(tmp_path: Path) -> None:
    path = _write(tmp_path, ODD)
    robot = read_mjcf(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    random = np.random.default_rng(1)
    tip = next(frame for frame in robot.frames if frame.name == "tip")
    for _ in range(5):
        data.qpos[7:] = random.uniform(-1, 1, model.nq - 7)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        names = [model.joint(i).name for i in range(1, model.njnt)]
        poses = _link_poses(robot, dict(zip(names, data.qpos[7:], strict=True)))
        world_from_base = pose(data.xpos[2], data.xmat[2].reshape(3, 3))
        found = world_from_base @ poses[tip.link] @ pose_of(tip)
        site = model.site("tip").id
        np.testing.assert_allclose(found[:3, 3], data.site_xpos[site], atol=1e-9)
        np.testing.assert_allclose(found[:3, :3].ravel(), data.site_xmat[site], atol=1e-9)
        moment = np.zeros(3)
        for link in robot.links:
            if link.inertia is not None:
                at = world_from_base @ poses[link.name] @ [*link.inertia.com, 1]
                moment += link.inertia.mass * at[:3]
        np.testing.assert_allclose(moment / robot.mass, data.subtree_com[2], atol=1e-9)


def test_scenery_is_not_the_robot(tmp_path: Path) -> None:
    robot = read_mjcf(_write(tmp_path, ODD))
    assert (robot.base, robot.floating) == ("trunk", True)
    assert [link.name for link in robot.links] == [
        "trunk", "arm", "wrist_wrist_x", "wrist_wrist_y", "wrist", "finger",
    ]  # fmt: skip
    assert [frame.name for frame in robot.frames] == ["tool", "tip"]
    assert robot.touching == (("trunk", "wrist"),)


def test_limits_and_efforts_are_told_from_the_right_place(tmp_path: Path) -> None:
    joints = {joint.name: joint for joint in read_mjcf(_write(tmp_path, ODD)).joints}
    assert joints["swing"].lower == pytest.approx(-np.pi / 2)
    assert {name: joint.effort for name, joint in joints.items()} == {
        "swing": 20, "wrist_x": None, "wrist_y": 7, "wrist_slide": None, "finger": None,
    }  # fmt: skip
    assert all(joint.velocity is None for joint in joints.values())
    assert not joints["wrist_slide"].actuated
    assert joints["wrist_slide"].type == "prismatic"


def test_of_two_coupled_joints_the_one_without_a_motor_follows(tmp_path: Path) -> None:
    robot = read_mjcf(_write(tmp_path, ODD))
    finger = robot.joints[-1]
    assert finger.mimic is not None
    assert finger.mimic.joint == "wrist_y"
    assert (finger.mimic.multiplier, finger.mimic.offset) == (0.5, -0.05)
    assert robot.joint_names == ("swing", "wrist_x", "wrist_y")


def test_another_order_of_the_actuators_is_mentioned(tmp_path: Path) -> None:
    description = read_mjcf(_write(tmp_path, ODD)).description
    assert description is not None
    assert "another order than its joints: wrist_y, swing, wrist_x." in description


def test_only_what_collides_is_collision(tmp_path: Path) -> None:
    links = {link.name: link for link in read_mjcf(_write(tmp_path, ODD)).links}
    assert [shape.type for shape in links["arm"].collision] == ["capsule"]
    assert links["arm"].collision[0].size == (0.02, 0.2)
    # The frame of the link lies at the anchor of its joint.
    assert links["arm"].collision[0].xyz == pytest.approx((0, -0.05, -0.2))
    assert links["trunk"].collision[0].size == (0.2, 0.4, 0.6)
    assert [shape.type for shape in links["wrist"].collision] == ["capsule", "sphere"]


def test_a_mass_from_a_missing_mesh_is_left_out_and_said(tmp_path: Path) -> None:
    text = ODD.replace("<worldbody>", '<asset><mesh name="m" file="m.stl"/></asset><worldbody>')
    text = text.replace('axis="0 0 1"/><geom/>', 'axis="0 0 1"/><geom type="mesh" mesh="m"/>')
    robot = read_mjcf(_write(tmp_path, text))
    assert robot.links[-1].inertia is None
    assert robot.missing_meshes == ("m.stl",)
    assert robot.description is not None
    assert "missing: finger." in robot.description


def test_a_mesh_that_is_there_gives_its_mass(tmp_path: Path) -> None:
    corners = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
    faces = ["1 3 2", "1 2 4", "1 4 3", "2 3 4"]
    obj = "".join(f"v {c}\n" for c in corners) + "".join(f"f {f}\n" for f in faces)
    _write(tmp_path, obj, "m.obj")
    text = ODD.replace("<worldbody>", '<asset><mesh name="m" file="m.obj"/></asset><worldbody>')
    text = text.replace('axis="0 0 1"/><geom/>', 'axis="0 0 1"/><geom type="mesh" mesh="m"/>')
    robot = read_mjcf(_write(tmp_path, text))
    inertia = robot.links[-1].inertia
    assert inertia is not None
    assert inertia.mass == pytest.approx(1000 / 6, rel=1e-3)
    assert robot.missing_meshes == ()


def test_a_scene_is_the_robot_it_includes(shared_data: Path) -> None:
    folder = shared_data / "models/menagerie/unitree_g1"
    scene, alone = read_mjcf(folder / "scene.xml"), read_mjcf(folder / "g1.xml")
    assert scene.links == alone.links
    assert scene.joints == alone.joints
    assert scene.missing_meshes == alone.missing_meshes


def test_two_arms_on_the_world_are_one_robot_that_does_not_float(shared_data: Path) -> None:
    robot = read_mjcf(shared_data / "models/menagerie/aloha/aloha.xml")
    assert (robot.base, robot.floating) == ("world", False)
    assert robot.links[0].collision == ()
    finger = robot.joints[7]
    assert (finger.name, finger.actuated) == ("left/right_finger", False)
    assert finger.mimic is not None
    assert finger.mimic.joint == "left/left_finger"


def test_a_base_on_joints_of_its_own_hangs_on_the_world(tmp_path: Path) -> None:
    text = ODD.replace("<freejoint/>", '<joint name="x" type="slide"/><joint name="yaw"/>')
    robot = read_mjcf(_write(tmp_path, text))
    assert (robot.base, robot.floating, len(robot.joints)) == ("world", False, 7)
    assert [(joint.parent, joint.child) for joint in robot.joints[:2]] == [
        ("world", "trunk_x"), ("trunk_x", "trunk"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<freejoint/>", '<freejoint/><joint name="x"/>', "MuJoCo cannot use it"),
        ('pos="0 0.2 0.1"', 'pos="0 nan 0.1"', "<body pos='0 nan 0.1'>; expected finite"),
        ('joint="swing"', 'joint="sling"', "MuJoCo cannot use it"),
        ('size="0.03"', 'size="-1"', "MuJoCo cannot use it"),
        ("<worldbody>", '<include file="../../other.xml"/><worldbody>', "not in the folder"),
        ("<worldbody>", '<include file="robot.xml"/><worldbody>', "included files"),
        ("<worldbody>", "<worldbody><replicate count='99999'><site/></replicate>", "copies"),
        ("<worldbody>", "<worldbody><replicate count='2000'><body/></replicate>", "<body>"),
        ("<worldbody>", "<worldbody><flexcomp count='9 9 9'/>", "at most 200"),
        ("<worldbody>", "<worldbody><flexcomp file='x.obj'/>", "at most 200"),
        ("<worldbody>", "<size nkey='2000000000'/><worldbody>", "at most 1000"),
        ("<worldbody>", "<size nuser_geom='400000000'/><worldbody>", "at most 1000"),
        ("<worldbody>", "<size nuserdata='300000000'/><worldbody>", "at most 1000000"),
        (
            "<worldbody>",
            "<asset><hfield name='h' nrow='30000' ncol='30000' size='1 1 1 1'/></asset><worldbody>",
            "900000000 heights",
        ),
        (
            "<worldbody>",
            "<asset><mesh name='m' builtin='cone' params='100000000 0.5'/></asset><worldbody>",
            "at most 200",
        ),
        ("<mujoco", "<!DOCTYPE x [<!ENTITY a 'b'>]><mujoco", "DOCTYPE"),
        ('<mujoco model="odd">', '<mujoco model="odd"><nonsense/>', "MuJoCo cannot use it"),
    ],
)
def test_a_broken_file_is_named_with_its_fault(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    assert old in ODD
    path = _write(tmp_path, ODD.replace(old, new, 1))
    with pytest.raises(ModelError) as caught:
        read_mjcf(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_attached_again_and_again_is_counted_each_time(tmp_path: Path) -> None:
    bodies = "<body><geom/></body>" * 300
    _write(tmp_path, f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", "part.xml")
    attached = '<attach model="part" body="a" prefix="p"/>' * 4
    model = ODD.replace("<worldbody>", '<asset><model name="part" file="part.xml"/></asset>'
                        f"<worldbody>{attached}", 1)  # fmt: skip
    with pytest.raises(ModelError, match="<body>, got 12"):
        read_mjcf(_write(tmp_path, model))


def test_a_muscle_takes_no_more_time_than_a_motor(tmp_path: Path) -> None:
    slow = '<option timestep="1e-9"/><compiler><lengthrange inttotal="1e9"/></compiler><worldbody>'
    model = ODD.replace("<worldbody>", slow, 1)
    path = _write(tmp_path, model.replace("<motor", '<muscle joint="wrist_y"/><motor'))
    assert "wrist_y" in read_mjcf(path).joint_names


def test_what_runs_out_of_memory_in_mujoco_ends_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("Caught an unknown exception!")

    monkeypatch.setattr(mujoco.MjSpec, "from_file", fail)
    with pytest.raises(ModelError, match="unknown exception"):
        read_mjcf(_write(tmp_path, ODD))


def test_two_floating_robots_in_one_file_are_refused(tmp_path: Path) -> None:
    other = (
        '<body name="other"><freejoint/><geom/><body name="o"><joint/><geom/></body></body>'
        "</worldbody>"
    )
    with pytest.raises(ModelError, match="floating robots, got 'trunk', 'other'"):
        read_mjcf(_write(tmp_path, ODD.replace("</worldbody>", other)))


def test_a_file_without_joints_is_no_robot(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="expected a robot"):
        read_mjcf(_write(tmp_path, "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"))


def test_a_truncated_mjcf_ends_in_a_model_error(tmp_path: Path) -> None:
    raw = ODD.encode()
    path = tmp_path / "cut.xml"
    for size in range(0, len(raw) - 1, 23):
        path.write_bytes(raw[:size])
        with pytest.raises(ModelError):
            read_mjcf(path)


def test_an_mjcf_with_a_changed_byte_is_read_or_refused(tmp_path: Path) -> None:
    raw = ODD.encode()
    random = np.random.default_rng(11)
    path = tmp_path / "changed.xml"
    refused = 0
    for _ in range(150):
        changed = bytearray(raw)
        changed[random.integers(len(raw))] = random.integers(32, 127)
        path.write_bytes(changed)
        try:
            read_mjcf(path)
        except ModelError:
            refused += 1
    assert 20 < refused < 150


def test_a_passive_rod_on_a_ball_joint_is_held_still_and_said(tmp_path: Path) -> None:
    rod = '<body name="rod"><joint name="socket" type="ball"/><geom size="0.01"/></body>'
    text = (
        '<mujoco><worldbody><body name="base"><geom size="0.1"/><body name="arm">'
        f'<joint name="turn"/><geom size="0.1"/>{rod}</body></body></worldbody>'
        '<actuator><motor joint="turn"/></actuator></mujoco>'
    )
    robot = read_mjcf(_write(tmp_path, text))
    assert [joint.name for joint in robot.joints] == ["turn"]
    assert "rod" in [frame.name for frame in robot.frames]
    assert robot.description == PASSIVE_BALLS.format("socket")


def test_a_ball_joint_that_carries_motors_is_three_hinges(tmp_path: Path) -> None:
    text = (
        '<mujoco><worldbody><body name="base"><geom size="0.1"/><body name="arm">'
        '<joint name="socket" type="ball" pos="0 0 0.2"/><geom size="0.1"/>'
        '<body name="tip" pos="0 0 -0.3"><joint name="turn"/><geom size="0.1"/></body></body>'
        '</body></worldbody><actuator><motor joint="turn"/></actuator></mujoco>'
    )
    robot = read_mjcf(_write(tmp_path, text))
    assert [joint.name for joint in robot.joints] == ["socket_x", "socket_y", "socket_z", "turn"]
    assert robot.joint_names == ("turn",)
    tip = Kinematics(robot).link_poses([[0.0]]).position("tip")[0]
    np.testing.assert_allclose(tip, [0, 0, -0.3], atol=1e-9)


def test_six_joints_of_a_floating_body_are_left_out(tmp_path: Path) -> None:
    joints = "".join(
        f'<joint name="{kind}_{axis}" type="{kind}" axis="{vector}"/>'
        for kind in ("slide", "hinge")
        for axis, vector in (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1"))
    )
    text = (
        f'<mujoco><worldbody><body name="trunk">{joints}<geom size="0.1"/><body name="arm">'
        '<joint name="turn"/><geom size="0.1"/></body></body></worldbody></mujoco>'
    )
    robot = read_mjcf(_write(tmp_path, text))
    assert (robot.base, robot.floating, robot.joint_names) == ("trunk", True, ("turn",))


def test_a_forearm_without_a_wrist_ends_where_its_mass_does(shared_data: Path) -> None:
    robot = read_mjcf(shared_data / "models/menagerie/unitree_h1/h1.xml")
    assert robot.end_effectors["left_hand"] == "left_elbow_link_end"
    hands = Kinematics(robot).end_effectors(np.zeros((1, len(robot.joint_names))))
    elbow = Kinematics(robot).link_poses(np.zeros((1, 19))).position("left_elbow_link")
    assert 0.2 < np.linalg.norm(hands.position("left_hand") - elbow) < 0.4
