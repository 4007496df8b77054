"""A schema lists streams, asks for metadata, and names files."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from corporeal.embodiment import open_robot
from corporeal.errors import UnknownNameError
from corporeal.schema import Schema, open_schema
from corporeal.schema.schema import METADATA


def _schema(**values: object) -> Schema:
    streams = [
        {"name": "joint_position", "group": "observations", "shape": ["joints"],
         "components": "joints"},
        {"name": "imu", "group": "observations", "shape": [6]},
    ]  # fmt: skip
    head = {"document": "schema", "name": "rig", "version": "1.0.0", "streams": streams}
    return Schema.model_validate(head | values)


def test_metadata_is_what_the_specification_asks_for_unless_said_otherwise() -> None:
    assert _schema().metadata == METADATA
    assert _schema(metadata=["task"], file_name="{task}.h5").metadata == ("task",)


def test_a_stream_is_found_by_its_path() -> None:
    assert _schema().stream("observations/imu").name == "imu"
    with pytest.raises(UnknownNameError, match=r"Did you mean 'observations/imu'\?"):
        _schema().stream("observations/imus")


def test_resolving_fills_in_the_joints_and_keeps_the_rest() -> None:
    schema = _schema()
    resolved = schema.resolve(("hip", "knee"))
    assert resolved.stream("observations/joint_position").shape == (2,)
    assert resolved.stream("observations/imu") == schema.stream("observations/imu")


def test_the_same_name_may_be_in_two_groups() -> None:
    streams = [{"name": "a", "group": group} for group in ("observations", "debug")]
    assert len(_schema(streams=streams).streams) == 2


@pytest.mark.parametrize("name", ["{task}.h5", "{task}_{index:04d}.h5", "{id}.h5", "fixed.h5"])
def test_a_file_name_is_made_of_metadata(name: str) -> None:
    assert _schema(file_name=name).file_name == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("{weather}.h5", r"uses \{weather\}; expected one of: calibration"),
        ("{}.h5", r"uses \{\}"),
        ("{task.__class__}.h5", r"uses \{task.__class__\}"),
        ("../{task}.h5", "expected a bare name"),
        ("a\\b.h5", "expected a bare name"),
        ("{task}.hdf5", "expected a bare name"),
        ("{index:{task}}.h5", "expected a bare name"),
        ("{index:0999999999d}.h5", "expected a bare name"),
        ("{task!r}.h5", "expected a bare name"),
        ("{task.h5", r"uses \{task.h5\}|expected a bare name"),
        ("a\nb.h5", "expected a bare name"),
    ],
)
def test_a_file_name_that_leads_elsewhere_is_refused(name: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        _schema(file_name=name)


def test_a_joint_that_slides_is_in_metres() -> None:
    aloha = open_robot("aloha")
    position = aloha.resolve(open_schema("teleop_humanoid")).stream("observations/joint_position")
    kinds = [joint.type for joint in aloha.actuated]
    assert set(kinds) == {"revolute", "prismatic"}
    assert position.unit == tuple("m" if kind == "prismatic" else "rad" for kind in kinds)


def test_a_robot_whose_joints_all_turn_keeps_one_unit() -> None:
    schema = open_robot("g1").resolve(open_schema("teleop_humanoid"))
    assert schema.stream("observations/joint_torque").unit == "N m"
