"""Joints whose reading slips on the way are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import POSITION, altered, changed, column, reaching, table, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.joint_slips import CHECK


def test_joints_that_keep_their_zero_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


def test_a_belt_that_slips_tooth_by_tooth_is_found_from_where_it_slips() -> None:
    def slip(values: np.ndarray) -> None:
        for place in (300, 400, 500):
            values[place:, column("left_elbow")] += 0.07

    (finding,) = CHECK.find(altered(joint_position=slip))
    assert finding.stream == POSITION
    assert finding.value == pytest.approx(0.21, abs=0.02)
    assert "left_elbow_joint" in finding.message
    assert 290 < finding.frames[0][0] < 510


def test_a_belt_that_slips_is_found_in_a_table() -> None:
    def slip(values: np.ndarray) -> None:
        values[180:, 5] -= 0.15

    (finding,) = CHECK.find(Subject(changed(table(), joint_position=slip)))
    assert finding.stream == "observation.state"


def test_a_constant_offset_is_no_slip() -> None:
    def shift(values: np.ndarray) -> None:
        values[:, column("left_elbow")] += 0.2

    assert list(CHECK.find(altered(joint_position=shift))) == []


def test_arms_that_all_sag_under_a_load_pass() -> None:
    arms = [column(name) for name in ("left_elbow", "right_elbow")] + list(range(15, 29))

    def sag(values: np.ndarray) -> None:
        values[500:, arms] -= 0.1

    assert list(CHECK.find(altered(joint_position=sag))) == []


def test_a_recording_without_an_action_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), "joint_position_target")))
