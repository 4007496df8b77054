"""Over a batch the start is varied as the protocol says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.demonstrations import OBJECT, batch_of, demonstration, edited
from tests.quality.ruled import judge_batch

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch

NAME = "start_spread_off_protocol"


def _batch(radius_m: float, turn_rad: float, count: int = 10) -> Batch:
    recordings = []
    for number in range(count):
        one = demonstration(0, index=number)
        pose = np.array(one.signals[OBJECT][:])
        angle, turn = 2 * np.pi * number / count, turn_rad * (2 * number / (count - 1) - 1)
        pose[:, :2] += radius_m * np.array([np.cos(angle), np.sin(angle)])
        pose[:, 3], pose[:, 6] = np.cos(turn / 2), np.sin(turn / 2)
        recordings.append(edited(one, OBJECT, pose))
    return batch_of(*recordings)


def test_passes_starts_spread_over_the_range() -> None:
    assert not list(judge_batch(NAME, _batch(0.05, 0.2)))


def test_finds_an_object_that_always_lies_at_the_same_place() -> None:
    moved, turned = judge_batch(NAME, _batch(0.0, 0.0))
    assert "moved by at most 0.000 m over 10 episodes" in moved.message
    assert "turned by at most 0.000 rad" in turned.message


def test_finds_an_object_that_lies_anywhere() -> None:
    (found,) = judge_batch(NAME, _batch(0.3, 0.2))
    assert "the protocol varies it by 0.06 m" in found.message
    assert len(found.episodes) == 10


def test_few_episodes_are_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge_batch(NAME, _batch(0.05, 0.2, count=5)))
