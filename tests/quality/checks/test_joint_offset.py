"""Joints that stand beside their targets are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import POSITION, altered, changed, column, reaching, table, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.joint_offset import CHECK


def shift(number: int, size: float) -> object:
    def edit(values: np.ndarray) -> None:
        values[:, number] += size

    return edit


def test_joints_on_their_targets_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


def test_a_servo_that_yields_a_little_passes() -> None:
    assert list(CHECK.find(altered(joint_position=shift(column("left_elbow"), -0.03)))) == []  # type: ignore[arg-type]


def test_an_encoder_with_a_shifted_zero_is_found() -> None:
    (finding,) = CHECK.find(altered(joint_position=shift(column("left_elbow"), 0.1)))  # type: ignore[arg-type]
    assert finding.stream == POSITION
    assert finding.value == pytest.approx(0.1, abs=0.01)
    assert "left_elbow_joint" in finding.message


def test_a_shifted_zero_in_a_table_is_found() -> None:
    (finding,) = CHECK.find(Subject(changed(table(), joint_position=shift(5, 0.1))))  # type: ignore[arg-type]
    assert finding.stream == "observation.state"


def test_a_recording_without_an_action_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), "joint_position_target")))
