"""Every ready schema is valid and says what the specification asks of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from corporeal.errors import DocumentError, UnknownNameError
from corporeal.schema import open_schema, rig_names


@pytest.mark.parametrize("name", rig_names())
def test_a_ready_schema_opens_by_name_and_has_that_name(name: str) -> None:
    schema = open_schema(name)
    assert schema.name == name
    assert schema.description


@pytest.mark.parametrize("name", rig_names())
def test_every_stream_of_a_ready_schema_has_a_rate_unless_it_may_be_absent(
    name: str,
) -> None:
    for stream in open_schema(name).streams:
        is_event = stream.kind == "text" or stream.optional
        assert stream.rate_hz is not None or is_event, stream.path


@pytest.mark.parametrize("name", rig_names())
def test_what_only_the_collection_floor_has_is_for_debug(name: str) -> None:
    outside = [s for s in open_schema(name).streams if s.placement == "external"]
    assert all(stream.group == "debug" for stream in outside)


def test_the_teleoperation_rig_has_the_rates_of_the_specification() -> None:
    schema = open_schema("teleop_humanoid")
    rates = {
        "observations/joint_position": 100,
        "observations/pelvis_imu": 200,
        "observations/left_wrist_wrench": 200,
        "observations/head_left": 30,
        "actions/joint_position_target": 50,
        "debug/base_pose": 100,
    }
    assert {path: schema.stream(path).rate_hz for path in rates} == rates


def test_an_unknown_schema_lists_the_ready_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown schema, got 'teleop'; expected one of: "):
        open_schema("teleop")


def test_a_file_is_opened_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "document: schema\nname: mine\nversion: 0.1.0\nstreams: [{name: a, group: debug}]\n"
    )
    assert open_schema(path).name == "mine"
    with pytest.raises(DocumentError, match="cannot be read"):
        open_schema(tmp_path / "other.yaml")
