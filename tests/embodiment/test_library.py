from __future__ import annotations

from pathlib import Path

import pytest

from corporeal.embodiment import Embodiment, open_robot, robot_names
from corporeal.errors import DocumentError, ModelError, UnknownNameError

URDF = """<robot name="tiny"><link name="a"/><link name="b"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint></robot>"""


def test_every_built_in_robot_opens_under_its_own_name() -> None:
    for name in robot_names():
        assert open_robot(name).name == name
        assert open_robot(name) is open_robot(name)


def test_an_unknown_name_lists_the_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown robot, got 'no_such_robot'") as caught:
        open_robot("no_such_robot")
    assert all(name in str(caught.value) for name in robot_names())


def test_a_urdf_may_be_called_xml(tmp_path: Path) -> None:
    for name in ("robot.urdf", "robot.xml"):
        (tmp_path / name).write_text(URDF, encoding="utf-8")
    by_suffix, by_root = (open_robot(tmp_path / name) for name in ("robot.urdf", "robot.xml"))
    assert by_suffix.joints == by_root.joints
    assert by_root.sources[0].startswith("robot.xml (sha256:")


def test_a_robot_comes_back_from_its_own_json(tmp_path: Path) -> None:
    (tmp_path / "robot.urdf").write_text(URDF, encoding="utf-8")
    robot = open_robot(str(tmp_path / "robot.urdf"))
    (tmp_path / "robot.json").write_text(robot.canonical(), encoding="utf-8")
    again = open_robot(tmp_path / "robot.json")
    assert isinstance(again, Embodiment)
    assert again.hash == robot.hash


@pytest.mark.parametrize("name", ["robot.stl", "folder/robot", "robot"])
def test_a_file_of_another_kind_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"expected one of: \.urdf"):
        open_robot(tmp_path / name)


def test_xml_that_is_no_robot_is_refused(tmp_path: Path) -> None:
    (tmp_path / "package.xml").write_text("<package/>", encoding="utf-8")
    with pytest.raises(ModelError, match="got <package>; expected <robot>"):
        open_robot(tmp_path / "package.xml")


def test_a_broken_document_is_a_document_error(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text("document: rig\n", encoding="utf-8")
    with pytest.raises(DocumentError):
        open_robot(tmp_path / "robot.yaml")
