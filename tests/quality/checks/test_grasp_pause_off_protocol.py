"""The hand rests when the gripper has closed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.demonstrations import GRIPPER, demonstration, edited, with_pause
from tests.quality.ruled import judge

from corporeal.errors import NotAssessed

NAME = "grasp_pause_off_protocol"


def test_passes_when_the_hand_waits() -> None:
    assert not list(judge(NAME, with_pause(demonstration(), 151, 0.6)))


def test_finds_a_hand_that_moves_on() -> None:
    (found,) = judge(NAME, demonstration(motion_s=3.0))
    assert found.stream == GRIPPER
    assert "the left hand moves at" in found.message


def test_without_a_grasp_or_a_rule_it_is_not_assessed() -> None:
    good = demonstration()
    with pytest.raises(NotAssessed, match="no gripper"):
        list(judge(NAME, edited(good, GRIPPER, np.full((470, 1), 0.08))))
    with pytest.raises(NotAssessed, match="no pause"):
        list(judge(NAME, good, grasp_pause_s=None))
