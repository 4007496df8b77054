"""The episode ends as its protocol says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.demonstrations import GRIPPER, demonstration, edited, rows, told
from tests.quality.ruled import judge

from corporeal.errors import NotAssessed

NAME = "end_state_off_protocol"


@pytest.mark.parametrize("seed", range(4))
def test_passes_when_everything_rests(seed: int) -> None:
    assert not list(judge(NAME, demonstration(seed)))


def test_finds_an_episode_that_stops_in_the_middle() -> None:
    found = list(judge(NAME, rows(demonstration(), np.arange(220))))
    words = " ".join(each.message for each in found)
    assert "the robot moves at the end" in words
    assert f"{GRIPPER} is 0 % open at the end; the protocol asks for open" in words


def test_finds_a_hand_that_stays_closed() -> None:
    good = demonstration()
    opening = np.array(good.signals[GRIPPER][:])
    opening[200:] = 0.03
    (found,) = judge(NAME, edited(good, GRIPPER, opening))
    assert found.stream == GRIPPER


def test_how_a_failure_ends_is_not_ruled() -> None:
    with pytest.raises(NotAssessed, match="labelled a failure"):
        list(judge(NAME, told(demonstration(), outcome={"success": False})))
