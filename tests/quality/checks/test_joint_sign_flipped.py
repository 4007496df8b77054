"""Joints with the sign turned round are found."""

from __future__ import annotations

import pytest
from tests.quality.reaching import (
    POSITION,
    TARGET,
    altered,
    changed,
    column,
    reaching,
    table,
    turn,
    without,
)

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.joint_sign_flipped import CHECK

JOINTS = ["right_elbow", "left_shoulder_roll", "right_wrist_pitch"]


def test_joints_that_turn_the_right_way_pass() -> None:
    for seed in range(4):
        assert list(CHECK.find(Subject(reaching(seed=seed)))) == []
        assert list(CHECK.find(Subject(table(seed)))) == []


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize(
    ("roles", "label"),
    [
        (("joint_position",), POSITION),
        (("joint_position_target",), TARGET),
        (("joint_position", "joint_position_target"), POSITION),
    ],
)
def test_a_turned_joint_is_found_and_named(joint: str, roles: tuple[str, ...], label: str) -> None:
    findings = list(CHECK.find(altered(**dict.fromkeys(roles, turn(column(joint))))))
    assert label in [finding.stream for finding in findings]
    assert all(f"{joint}_joint" in finding.message for finding in findings)


def test_a_joint_turned_in_every_stream_is_told_by_weight() -> None:
    edit = turn(column("right_shoulder_pitch"))
    roles = ("joint_position", "joint_position_target", "joint_velocity", "joint_torque")
    findings = list(CHECK.find(altered(**dict.fromkeys(roles, edit))))
    assert [finding.stream for finding in findings] == [POSITION, TARGET]
    assert all("right_shoulder_pitch_joint" in finding.message for finding in findings)


def test_a_turned_joint_in_a_table_is_found() -> None:
    findings = list(CHECK.find(Subject(changed(table(), joint_position=turn(3)))))
    assert "observation.state" in [finding.stream for finding in findings]


def test_a_recording_of_positions_alone_is_not_assessed() -> None:
    others = ("joint_velocity", "joint_torque", "joint_position_target")
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), *others)))
