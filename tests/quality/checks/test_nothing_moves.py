"""An episode in which nothing is demonstrated is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.quality.reaching import POSITION, altered, reaching, without

from corporeal.errors import NotAssessed
from corporeal.exchange.formats.lerobot import read
from corporeal.quality import Subject
from corporeal.quality.checks.nothing_moves import CHECK


def still(values: np.ndarray) -> None:
    values[:] = values[0]


def test_a_robot_that_reaches_passes() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []


def test_a_robot_that_moves_without_being_told_passes() -> None:
    assert list(CHECK.find(altered(joint_position_target=still))) == []


def test_constant_state_and_action_are_found() -> None:
    (finding,) = CHECK.find(altered(joint_position=still, joint_position_target=still))
    assert (finding.stream, finding.frames) == (POSITION, ((0, 800),))


def test_a_recording_without_a_state_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no joint_position or state"):
        list(CHECK.find(without(reaching(), "joint_position")))


def test_the_real_set_in_which_nothing_was_demonstrated_is_found(shared_data: Path) -> None:
    dataset = read(shared_data / "lerobot" / "so101_v30")
    for number in dataset.episodes:
        assert len(list(CHECK.find(Subject(dataset.open(number))))) == 1
