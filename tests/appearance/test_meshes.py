"""Meshes of a description put on a robot: every format, checked, and nothing from outside."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corporeal.appearance import find_meshes, fit_meshes, keep_meshes, load_meshes
from corporeal.appearance.decimation import indexed, thinned
from corporeal.appearance.mesh_file import read_mesh
from corporeal.appearance.surface import Surface, solid
from corporeal.cli.program import program
from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError, ModelError
from corporeal.geometry import Array


def stl(surface: Surface) -> bytes:
    rows = b"".join(
        struct.pack("<12fH", 0, 0, 0, *corners.reshape(-1), 0) for corners in surface.corners
    )
    return b"\0" * 80 + struct.pack("<I", len(surface)) + rows


def obj(surface: Surface) -> bytes:
    points = surface.corners.reshape(-1, 3)
    lines = [b"mtllib paint.mtl", b"usemtl red"]
    lines += [b"v %f %f %f" % tuple(point) for point in points]
    lines += [b"f %d//1 %d//1 -%d" % (n + 1, n + 2, len(points) - n - 2)
              for n in range(0, len(points), 3)]  # fmt: skip
    return b"\n".join(lines)


def dae(surface: Surface) -> bytes:
    """In millimetres, y up, with a colour and a node that shifts it by 1 m."""
    turned = (surface.corners * 1000)[..., [0, 2, 1]] * [1, 1, -1]
    numbers = " ".join(f"{value:.3f}" for value in turned.reshape(-1))
    index = " ".join(map(str, range(3 * len(surface))))
    return f"""<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
      <asset><unit meter="0.001"/><up_axis>Y_UP</up_axis></asset>
      <library_effects><effect id="e"><profile_COMMON><technique><phong><diffuse>
        <color>0.1 0.2 0.9 1</color></diffuse></phong></technique></profile_COMMON></effect>
      </library_effects>
      <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
      <library_geometries><geometry id="g"><mesh>
        <source id="p"><float_array id="a" count="9">{numbers}</float_array></source>
        <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
        <triangles material="s" count="{len(surface)}">
          <input semantic="VERTEX" source="#v" offset="0"/><p>{index}</p></triangles>
      </mesh></geometry></library_geometries>
      <library_visual_scenes><visual_scene id="w"><node><translate>1000 0 0</translate>
        <instance_geometry url="#g"><bind_material><technique_common>
          <instance_material symbol="s" target="#m"/></technique_common></bind_material>
        </instance_geometry></node></visual_scene></library_visual_scenes>
    </COLLADA>""".encode()


def urdf(visuals: dict[str, str]) -> str:
    """G1's own tree with these visuals, by link."""
    robot = open_robot("g1")
    links = "".join(
        f'<link name="{link.name}">{visuals.get(link.name, "")}</link>' for link in robot.links
    )
    joints = "".join(
        f'<joint name="{j.name}" type="revolute"><parent link="{j.parent}"/>'
        f'<child link="{j.child}"/><axis xyz="{j.axis[0]} {j.axis[1]} {j.axis[2]}"/>'
        f'<origin xyz="{j.xyz[0]} {j.xyz[1]} {j.xyz[2]}" rpy="{j.rpy[0]} {j.rpy[1]} {j.rpy[2]}"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for j in robot.joints
    )
    return f'<robot name="g1">{links}{joints}</robot>'


def shown(file: str, more: str = "", colour: str = "") -> str:
    paint = f'<material name="c"><color rgba="{colour}"/></material>' if colour else ""
    return (
        f'<visual><origin xyz="0 0 0.1" rpy="0 0 0"/><geometry><mesh filename="{file}" {more}/>'
        f"</geometry>{paint}</visual>"
    )


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test keeps for its user is gone with it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


@pytest.fixture
def description(tmp_path: Path) -> Path:
    """A folder as makers ship it: urdf/ beside meshes/, one link in each format."""
    folder = tmp_path / "g1_description"
    (folder / "meshes").mkdir(parents=True)
    (folder / "urdf").mkdir()
    ball = solid("sphere", (0.05,))
    (folder / "meshes" / "knee.STL").write_bytes(stl(ball))
    (folder / "meshes" / "torso.obj").write_bytes(obj(ball))
    (folder / "meshes" / "paint.mtl").write_bytes(b"newmtl red\nKd 0.9 0.1 0.1\n")
    (folder / "meshes" / "pelvis.dae").write_bytes(dae(ball))
    text = urdf({
        "left_knee_link": shown("package://g1_description/meshes/knee.STL",
                                'scale="2 2 2"', "0 0.5 0 1"),
        "torso_link": shown("../meshes/torso.obj"),
        "pelvis": shown("package://g1_description/meshes/pelvis.dae"),
        "right_knee_link": shown("package://g1_description/meshes/gone.STL"),
        "left_elbow_link": '<visual><geometry><box size="0.1 0.2 0.3"/></geometry></visual>',
    })  # fmt: skip
    (folder / "urdf" / "g1.urdf").write_text(text)
    return folder


def _middle(surface: Surface) -> Array:
    points = surface.corners.reshape(-1, 3)
    middle: Array = (points.min(axis=0) + points.max(axis=0)) / 2
    return middle


def test_every_format_lands_on_its_link_in_metres_and_in_its_colours(description: Path) -> None:
    fitted = fit_meshes(open_robot("g1"), description)
    assert set(fitted.links) == {"left_knee_link", "torso_link", "pelvis", "left_elbow_link"}
    assert fitted.absent == ("gone.STL",)
    assert not fitted.moved
    knee = fitted.links["left_knee_link"]
    np.testing.assert_allclose(_middle(knee), [0, 0, 0.1], atol=1e-6)
    assert np.ptp(knee.corners.reshape(-1, 3)[:, 2]) == pytest.approx(0.2, abs=1e-4)
    np.testing.assert_allclose(knee.colours, np.tile([0, 0.5, 0], (len(knee), 1)))
    np.testing.assert_allclose(fitted.links["torso_link"].colours[0], [0.9, 0.1, 0.1])
    np.testing.assert_allclose(_middle(fitted.links["torso_link"]), [0, 0, 0.1], atol=1e-6)
    # COLLADA: millimetres, y up, moved by its node.
    np.testing.assert_allclose(_middle(fitted.links["pelvis"]), [1, 0, 0.1], atol=1e-4)
    np.testing.assert_allclose(fitted.links["pelvis"].colours[0], [0.1, 0.2, 0.9])


def test_an_mjcf_file_gives_the_same_places_as_a_urdf_file(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "ball.stl").write_bytes(stl(solid("sphere", (50.0,))))
    robot = open_robot("h1")
    children: dict[str, list[str]] = {}
    for joint in robot.joints:
        x, y, z = joint.xyz
        body = (
            f'<body name="{joint.child}" pos="{x} {y} {z}"><joint name="{joint.name}" '
            f'axis="{joint.axis[0]} {joint.axis[1]} {joint.axis[2]}"/>'
            '<geom size="0.01" mass="1"/>{}</body>'
        )
        children.setdefault(joint.parent, []).append(joint.child)
        children[f"body {joint.child}"] = [body]

    def tree(link: str) -> str:
        inside = "".join(tree(child) for child in children.get(link, []))
        if link == "left_knee_link":
            inside += '<geom type="mesh" mesh="ball" material="black" pos="0 0 -0.1" class="v"/>'
        return children[f"body {link}"][0].replace("{}", inside)

    limbs = "".join(tree(child) for child in children[robot.base])
    (tmp_path / "h1.xml").write_text(
        '<mujoco><compiler meshdir="assets"/><default><default class="v">'
        '<geom group="2" contype="0" conaffinity="0" density="0"/></default></default>'
        '<asset><mesh name="ball" file="ball.stl" scale="0.001 0.001 0.001"/>'
        '<material name="black" rgba="0.2 0.2 0.2 1"/></asset><worldbody>'
        f'<body name="pelvis"><freejoint/><geom size="0.1" mass="9"/>{limbs}</body>'
        "</worldbody></mujoco>"
    )
    fitted = fit_meshes(robot, tmp_path / "h1.xml")
    assert set(fitted.links) == {"left_knee_link"}
    ball = fitted.links["left_knee_link"]
    np.testing.assert_allclose(_middle(ball), [0, 0, -0.1], atol=1e-6)
    assert np.ptp(ball.corners[..., 0]) == pytest.approx(0.1, abs=1e-3)
    np.testing.assert_allclose(ball.colours[0], [0.2, 0.2, 0.2])


def _outside(folder: Path) -> str:
    secret = folder.parent / "secret.stl"
    secret.write_bytes(stl(solid("box", (1.0, 1.0, 1.0))))
    (folder / "meshes" / "linked.stl").symlink_to(secret)
    return shown("package://g1_description/meshes/linked.stl") + shown("../../secret.stl")


def _claims_more(folder: Path) -> str:
    (folder / "meshes" / "bad.stl").write_bytes(b"\0" * 80 + struct.pack("<I", 4_000_000_000))
    return shown("package://g1_description/meshes/bad.stl")


def _no_numbers(folder: Path) -> str:
    spoilt = solid("box", (1.0, 1.0, 1.0)).corners.copy()
    spoilt[0, 0, 0] = np.nan
    (folder / "meshes" / "bad.stl").write_bytes(stl(Surface(spoilt, np.zeros((12, 3)))))
    return shown("package://g1_description/meshes/bad.stl")


def _no_corner(folder: Path) -> str:
    (folder / "meshes" / "bad.obj").write_bytes(b"v 0 0 0\nv 1 0 0\nf 1 2 99\n")
    return shown("package://g1_description/meshes/bad.obj")


def _entities(folder: Path) -> str:
    text = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><COLLADA>&a;</COLLADA>'
    (folder / "meshes" / "bad.dae").write_bytes(text)
    return shown("package://g1_description/meshes/bad.dae")


def _scene(folder: Path, nodes: str, mesh: str = "") -> str:
    (folder / "meshes" / "bad.dae").write_text(
        f"<COLLADA><library_geometries><geometry id='g'><mesh><source id='s'><float_array>0 0 0 "
        f"1 0 0 0 1 0</float_array></source><vertices id='v'><input semantic='POSITION' "
        f"source='#s'/></vertices>{mesh}</mesh></geometry></library_geometries>"
        f"<library_nodes>{nodes}<node id='n60'/></library_nodes><library_visual_scenes>"
        "<visual_scene><node><instance_node url='#n0'/></node></visual_scene>"
        "</library_visual_scenes></COLLADA>"
    )
    return shown("package://g1_description/meshes/bad.dae")


def _doubled_nodes(folder: Path) -> str:
    """Sixty nodes, each of which shows the next one twice: 2^60 to walk."""
    twice = "<instance_node url='#n{0}'/>" * 2
    return _scene(folder, "".join(
        f"<node id='n{number}'>{twice.format(number + 1)}</node>" for number in range(60)
    ))  # fmt: skip


def _endless_faces(folder: Path) -> str:
    """A million polygons, told anew by each of thirty thousand empty lists of corners."""
    faces = f"<vcount>{'3 ' * 1_000_000}</vcount>{'<p/>' * 30_000}"
    mesh = f"<polylist><input semantic='VERTEX' source='#v' offset='0'/>{faces}</polylist>"
    return _scene(folder, "<node id='n0'/>", mesh)


def _many_libraries(folder: Path) -> str:
    lines = "".join(f"mtllib {number}.mtl\n" for number in range(1000))
    (folder / "meshes" / "bad.obj").write_text(lines + "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    return shown("package://g1_description/meshes/bad.obj")


def _millimetres(folder: Path) -> str:
    (folder / "meshes" / "big.stl").write_bytes(stl(solid("box", (500.0, 500.0, 500.0))))
    return shown("package://g1_description/meshes/big.stl")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_outside, "are not in the folder, such as linked.stl"),
        (_claims_more, "claims 4000000000 triangles"),
        (_no_numbers, "no places"),
        (_no_corner, "names corner b'99' of 2"),
        (_entities, "DOCTYPE"),
        (_doubled_nodes, "more than 20000 parts"),
        (_endless_faces, "more than 20000 parts"),
        (_many_libraries, "more than 16 files of materials"),
        (_millimetres, "reaches 250 m; expected metres"),
    ],
)
def test_what_a_hostile_folder_holds_is_refused_in_a_sentence(
    description: Path, make: Callable[[Path], str], words: str
) -> None:
    visual = make(description)
    (description / "urdf" / "g1.urdf").write_text(urdf({"torso_link": visual}))
    with pytest.raises(ModelError, match=words):
        fit_meshes(open_robot("g1"), description)


def test_a_folder_of_another_robot_is_refused_and_the_fitting_file_is_chosen(
    description: Path,
) -> None:
    with pytest.raises(ModelError, match="describes gr1"):
        fit_meshes(open_robot("gr1"), description)
    # A file with half of the joints beside the whole one is not taken.
    lesser = urdf({}).replace("left_wrist", "other_wrist")
    (description / "urdf" / "a_first.urdf").write_text(lesser)
    assert fit_meshes(open_robot("g1"), description).source.name == "g1.urdf"


def test_decimation_keeps_the_form_and_sharp_edges_stay_sharp() -> None:
    fine = np.linspace(0, 2 * np.pi, 201)
    grid = np.stack(np.meshgrid(fine, np.linspace(-1, 1, 101), indexing="ij"), axis=-1)
    points = np.stack(
        [0.1 * np.cos(grid[..., 0]), 0.1 * np.sin(grid[..., 0]), 0.2 * grid[..., 1]], axis=-1
    )
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    faces = np.concatenate([np.stack([a, b, c], 2), np.stack([a, c, d], 2)]).reshape(-1, 3, 3)
    tube = Surface(faces, np.full((len(faces), 3), 0.5))
    (thin,), error_m = thinned([tube], 3000)
    assert 1000 < len(thin) <= 3000
    radius = np.hypot(thin.corners[..., 0], thin.corners[..., 1])
    assert np.abs(radius - 0.1).max() < 2e-3
    assert error_m < 1e-3
    assert np.abs(thin.corners[..., 2]).max() > 0.19, "the ends are still there"
    positions, normals, _, index = indexed(solid("box", (0.1, 0.1, 0.1)))
    assert len(positions) == 24, "every edge of a box is sharp"
    assert index.shape == (12, 3)
    np.testing.assert_allclose(np.abs(normals).max(axis=1), 1, atol=1e-6)
    ball, *_ = indexed(solid("sphere", (0.1,)))
    assert len(ball) < len(solid("sphere", (0.1,))), "a ball is smooth"


def test_the_command_keeps_meshes_once_and_they_are_found_for_the_same_tree_alone(
    description: Path, tmp_path: Path
) -> None:
    said = [
        json.loads(
            CliRunner()
            .invoke(program(), ["robot", "meshes", "g1", str(description), "--json"])
            .stdout
        )
        for _ in range(2)
    ]
    assert said[0]["hash"] == said[1]["hash"], "the same meshes are the same file"
    assert said[0]["absent"] == ["gone.STL"]
    robot, elsewhere = open_robot("g1"), tmp_path / "workspace"
    kept, reason = find_meshes(robot, elsewhere)
    assert kept is not None
    assert reason is None
    arrays = load_meshes(kept.hash, elsewhere)
    first, count, start, numbers = kept.links["left_knee_link"]
    assert arrays["index"][start : start + numbers].max() == count - 1
    assert arrays["positions"][first : first + count, 2].max() == pytest.approx(0.2, abs=1e-3)
    joints = (robot.joints[0].model_copy(update={"xyz": (0.0, 0.0, 1.0)}), *robot.joints[1:])
    other = robot.model_copy(update={"joints": joints})
    kept, reason = find_meshes(other, elsewhere)
    assert kept is None
    assert reason is not None
    assert "another version" in reason
    Path(said[0]["file"]).unlink()
    kept, reason = find_meshes(robot, elsewhere)
    assert kept is None
    assert reason is not None
    assert "damaged" in reason


def test_kept_meshes_that_unpack_to_more_than_they_may_are_not_loaded(tmp_path: Path) -> None:
    folder, name = tmp_path / "robots", "0" * 64
    folder.mkdir()
    huge = np.zeros(40 << 20, np.uint8)
    np.savez_compressed(folder / f"{name}.npz", positions=huge, normals=huge, colours=huge,
                        index=huge)  # fmt: skip
    assert (folder / f"{name}.npz").stat().st_size < 1 << 20
    with pytest.raises(CorporealError, match="40 MiB; expected at most 32"):
        load_meshes(name, tmp_path)


def test_meshes_of_a_workspace_come_before_those_of_the_user(
    description: Path, tmp_path: Path
) -> None:
    robot = open_robot("g1")
    keep_meshes(fit_meshes(robot, description))
    (description / "urdf" / "g1.urdf").write_text(
        urdf({"pelvis": '<visual><geometry><sphere radius="0.1"/></geometry></visual>'})
    )
    theirs, _ = keep_meshes(fit_meshes(robot, description), tmp_path)
    kept, _ = find_meshes(robot, tmp_path)
    assert kept == theirs


def test_a_path_that_is_no_description_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    for path in (tmp_path / "gone", tmp_path / "gone.urdf", tmp_path / "notes.txt"):
        said = CliRunner().invoke(program(), ["robot", "meshes", "g1", str(path)])
        assert said.exit_code != 0
        with pytest.raises(ModelError, match="expected a folder that is there"):
            fit_meshes(open_robot("g1"), path)


def test_a_file_of_an_unknown_type_is_named(tmp_path: Path) -> None:
    file = tmp_path / "head.fbx"
    file.write_bytes(b"x")
    with pytest.raises(ModelError, match=r"'\.fbx'.*\.stl, \.obj, \.dae"):
        read_mesh(file, tmp_path)


def test_the_real_descriptions_without_meshes_say_what_is_missing(shared_data: Path) -> None:
    with pytest.raises(ModelError, match="mesh files are not in the folder"):
        fit_meshes(open_robot("g1"), shared_data / "models" / "unitree_g1")
