"""The episode starts as its protocol says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.demonstrations import (
    BASE,
    OBJECT,
    STATE,
    demonstration,
    edited,
    rows,
)
from tests.quality.ruled import judge, ramp

from corporeal.errors import NotAssessed
from corporeal.protocol.protocol import State

NAME = "start_state_off_protocol"


@pytest.mark.parametrize("seed", range(4))
def test_passes_when_everything_rests(seed: int) -> None:
    assert not list(judge(NAME, demonstration(seed)))


def test_finds_a_robot_that_already_moves() -> None:
    late = rows(demonstration(), np.arange(90, 470))
    found = list(judge(NAME, late))
    assert found[0].stream == STATE
    assert "the robot moves at the start" in found[0].message


def test_finds_a_robot_that_crouches_and_an_object_that_rolls() -> None:
    good = demonstration()
    base = np.array(good.signals[BASE][:])
    base[:, 2] = 0.5
    (found,) = judge(NAME, edited(good, BASE, base))
    assert found.stream == BASE
    pose = np.array(good.signals[OBJECT][:])
    pose[:, 1] += ramp(len(pose), first=0, per_s=0.1)
    (found,) = judge(NAME, edited(good, OBJECT, pose))
    assert "the object moves 48 mm" in found.message


def test_finds_a_joint_that_is_not_where_the_protocol_wants_it() -> None:
    wanted = State(description="arm out", posture={"left_elbow_joint": 1.0})
    (found,) = judge(NAME, demonstration(), start=wanted)
    assert found.message.startswith("left_elbow_joint is at")
    assert found.limit == 1.0


def test_a_state_that_nothing_shows_is_not_assessed() -> None:
    wanted = State(description="anything", upright=False)
    with pytest.raises(NotAssessed, match="no stream shows"):
        list(judge(NAME, demonstration(), start=wanted))
