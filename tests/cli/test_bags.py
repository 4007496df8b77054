"""Bags on the command line: looked at, judged without a robot, and told what they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.episode import Episode

ARM = "interbotix_xsarm_diagnostic_tool/bag/waist_diagnostics.bag"
RECIPE = """
document: recipe
name: waist
version: 1.0.0
instruction: turn the waist to and fro
streams:
  observations/joint_torque: {name: motor_current, group: debug, unit: "1"}
  actions/wx200_commands_joint_single:
    {name: waist_target, components: [goal], unit: rad, late_ms: 20}
  observations/wx200_temperatures_joint_group: {drop: true}
"""


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


@pytest.fixture
def jackal(shared_data: Path) -> Path:
    return shared_data / "robot_logs" / "ros1_robot_localization" / "test2.bag"


@pytest.fixture
def arm(shared_data: Path) -> Path:
    folder = shared_data / "robot_logs" / "ros1_interbotix" / "interbotix_ros_xsarms" / "examples"
    return folder / ARM


def test_a_bag_is_shown_topic_by_topic(jackal: Path) -> None:
    result = _run("info", jackal)
    assert result.exit_code == 0, result.output
    assert "2 topics, 6,121 messages" in result.output
    assert "nav_msgs/Odometry" in result.output
    # A row for a topic, not a line for a message.
    assert len(result.output.splitlines()) < 30


def test_a_bag_in_json_has_topics_streams_and_problems(jackal: Path) -> None:
    values = json.loads(_run("info", jackal, "--json").output)
    assert [item["name"] for item in values["topics"]] == [
        "/imu/data", "/jackal_velocity_controller/odom",
    ]  # fmt: skip
    assert values["streams"]["debug/base_velocity"]["frame"] == "base_link"
    assert values["metadata"]["topic_types"]["/imu/data"] == "sensor_msgs/msg/Imu"
    assert values["robot"] is None


@pytest.mark.slow
def test_a_bag_is_judged_without_a_robot(jackal: Path) -> None:
    result = _run("check", jackal, "--robot", "none", "--json")
    assert result.exit_code in (0, 1), result.output
    (episode,) = json.loads(result.stdout)["episodes"]
    assert "signal_frozen" not in {finding["check"] for finding in episode["findings"]}


@pytest.mark.slow
def test_a_recipe_overrides_what_a_bag_was_taken_for(arm: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "waist.yaml"
    recipe.write_text(RECIPE)
    plain, told = tmp_path / "plain", tmp_path / "told"
    for out, more in ((plain, ()), (told, ("--recipe", recipe))):
        result = _run("import", arm, "--robot", "none", "--no-verify", "--out", out, *more)
        assert result.exit_code == 0, result.output
    (before,), (after,) = plain.glob("*.h5"), told.glob("*.h5")
    with Episode.open(before) as first, Episode.open(after) as second:
        current, torque = second["debug/motor_current"], first["observations/joint_torque"]
        assert (current[:] == torque[:]).all()
        assert set(current.spec.units) == {"1"}
        target, single = (
            second["actions/waist_target"],
            first["actions/wx200_commands_joint_single"],
        )
        assert ((single.time_ns - target.time_ns) == 20_000_000).all()
        assert target.spec.names == ("goal",)
        assert "observations/wx200_temperatures_joint_group" not in second
        assert second.metadata["instruction"] == "turn the waist to and fro"


def test_a_recipe_for_a_stream_that_is_not_there_is_refused(arm: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "waist.yaml"
    recipe.write_text(RECIPE.replace("joint_torque", "joint_torqe"))
    result = _run("import", arm, "--robot", "none", "--out", tmp_path / "out", "--recipe", recipe)
    assert result.exit_code != 0
    assert "joint_torqe" in str(result.exception)
