"""Hands that close when they are told to open are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import GRIPPER, altered, changed, reaching, table, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.gripper_reversed import CHECK


def test_grippers_that_obey_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


def test_an_inverted_gripper_is_found() -> None:
    def invert(values: np.ndarray) -> None:
        values[:] = values.max() - values

    (finding,) = CHECK.find(altered(right_gripper=invert))
    assert finding.stream == GRIPPER


def test_an_inverted_finger_in_a_table_is_found() -> None:
    def invert(values: np.ndarray) -> None:
        values[:, -1] = 1.0 - values[:, -1]

    (finding,) = CHECK.find(Subject(changed(table(), joint_position=invert)))
    assert finding.stream == "observation.state"
    assert "kRightHandIndex" in finding.message


def test_a_gripper_that_does_not_move_gives_no_evidence() -> None:
    def still(values: np.ndarray) -> None:
        values[:] = 0.05

    assert list(CHECK.find(altered(right_gripper=still))) == []


def test_a_recording_without_hands_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no gripper"):
        list(CHECK.find(without(reaching(), "right_gripper", "right_gripper_target")))
