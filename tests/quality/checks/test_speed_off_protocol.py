"""Hands, joints and base stay below the speeds of the protocol."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import BASE, STATE, demonstration, edited
from tests.quality.ruled import judge, ramp

from corporeal.errors import NotAssessed
from corporeal.protocol.protocol import Speeds

NAME = "speed_off_protocol"


def test_passes_at_a_calm_pace() -> None:
    speeds = Speeds(hand_m_s=1.0, joint_share=0.5, base_m_s=0.5)
    assert not list(judge(NAME, demonstration(reach_rad=0.3), speeds=speeds))


def test_finds_a_hand_that_is_too_fast() -> None:
    found = list(judge(NAME, demonstration(motion_s=1.5, reach_rad=1.2)))
    assert found[0].stream == STATE
    assert found[0].message.startswith("left_hand reaches")
    assert found[0].frames[0][0] >= 50


def test_finds_a_joint_and_a_base_that_are_too_fast() -> None:
    slow = Speeds(hand_m_s=9.0, joint_share=0.01)
    found = list(judge(NAME, demonstration(), speeds=slow))
    assert any("shoulder_pitch" in each.message for each in found)
    good = demonstration()
    base = np.array(good.signals[BASE][:])
    base[:, 0] += ramp(len(base), first=100, per_s=2.0)
    rule = Speeds(hand_m_s=9.0, base_m_s=1.0)
    (found_base,) = judge(NAME, edited(good, BASE, base), speeds=rule)
    assert found_base.value == pytest.approx(2.0, rel=0.05)


def test_without_the_robot_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="--robot"):
        list(judge(NAME, replace(demonstration(), embodiment=None)))
