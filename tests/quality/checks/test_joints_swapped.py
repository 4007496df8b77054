"""Exchanged joints are found and named: in the state, in the action, or in both."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import (
    G1,
    NAMES,
    POSITION,
    TARGET,
    altered,
    changed,
    column,
    exchange,
    reaching,
    table,
    without,
)

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.joints_swapped import CHECK

PAIRS = [
    ("left_elbow", "right_elbow"),
    ("right_shoulder_pitch", "right_shoulder_roll"),
    ("left_elbow", "left_wrist_roll"),
]


def found(subject: Subject) -> dict[str | None, Finding]:
    return {finding.stream: finding for finding in CHECK.find(subject)}


def named(finding: Finding, *names: str) -> bool:
    return all(f"{name}_joint" in finding.message for name in names)


def test_joints_in_order_pass() -> None:
    for seed in range(4):
        assert found(Subject(reaching(seed=seed))) == {}
        assert found(Subject(table(seed))) == {}


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_an_exchange_in_the_state_alone_is_found(first: str, second: str) -> None:
    swap = exchange(column(first), column(second))
    findings = found(altered(joint_position=swap))
    assert set(findings) == {POSITION}
    assert named(findings[POSITION], first, second)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_an_exchange_in_the_action_alone_is_found(first: str, second: str) -> None:
    findings = found(altered(joint_position_target=exchange(column(first), column(second))))
    assert TARGET in findings
    assert named(findings[TARGET], first, second)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_an_exchange_in_state_and_action_is_found(first: str, second: str) -> None:
    swap = exchange(column(first), column(second))
    findings = found(altered(joint_position=swap, joint_position_target=swap))
    assert POSITION in findings
    assert named(findings[POSITION], first, second)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_an_exchange_in_every_stream_is_told_by_weight(first: str, second: str) -> None:
    swap = exchange(column(first), column(second))
    subject = altered(
        joint_position=swap, joint_position_target=swap, joint_velocity=swap, joint_torque=swap
    )
    findings = found(subject)
    assert set(findings) == {POSITION, TARGET}
    assert named(findings[POSITION], first, second)
    assert "torques" in findings[POSITION].message


def test_two_arms_exchanged_in_every_stream_are_told_by_weight() -> None:
    left, right = ([NAMES.index(n) for n in G1.groups[f"{s}_arm"]] for s in ("left", "right"))

    def sides(values: np.ndarray) -> None:
        values[:, left + right] = values[:, right + left]

    subject = altered(
        joint_position=sides, joint_position_target=sides, joint_velocity=sides, joint_torque=sides
    )
    findings = found(subject)
    assert named(findings[POSITION], "left_elbow", "right_elbow")


def test_three_columns_that_went_round_are_found() -> None:
    columns = [column("right_shoulder_pitch"), column("right_elbow"), column("right_wrist_pitch")]

    def rotate(values: np.ndarray) -> None:
        values[:, columns] = values[:, columns[1:] + columns[:1]]

    finding = found(altered(joint_position=rotate))[POSITION]
    assert named(finding, "right_shoulder_pitch", "right_elbow", "right_wrist_pitch")


@pytest.mark.parametrize("role", ["joint_position", "joint_position_target"])
def test_an_exchange_in_a_table_is_found_by_the_response(role: str) -> None:
    label = {"joint_position": "observation.state", "joint_position_target": "action"}[role]
    findings = found(Subject(changed(table(), **{role: exchange(3, 10)})))
    assert named(findings[label], "left_elbow", "right_elbow")


def test_joints_that_stand_in_the_same_place_give_no_evidence() -> None:
    swap = exchange(column("left_hip_yaw"), column("right_hip_yaw"))
    assert found(altered(joint_position=swap)) == {}


def test_a_recording_of_positions_alone_is_not_assessed() -> None:
    others = ("joint_velocity", "joint_torque", "joint_position_target")
    with pytest.raises(NotAssessed, match="to compare"):
        list(CHECK.find(without(reaching(), *others)))
