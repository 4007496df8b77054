"""Over a batch the hand comes from different sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import batch_of, demonstration
from tests.quality.ruled import judge_batch

from corporeal.errors import NotAssessed
from corporeal.protocol import open_protocol
from corporeal.quality.batch import Batch
from corporeal.quality.evidence.start_conditions import APPROACH

NAME = "approach_diversity_off_protocol"
PROTOCOL = open_protocol("pick_place").model_copy(update={"approach_diversity_rad": 0.5})


def _batch(half_angle_rad: float) -> Batch:
    brief = batch_of(demonstration()).episodes[0]
    episodes = []
    for number in range(10):
        angle = half_angle_rad * (1 if number % 2 else -1)
        way = dict(zip(APPROACH, (np.cos(angle), np.sin(angle), 0.0), strict=True))
        episodes.append(replace(brief, index=number, measures={**brief.measures, **way}))
    return Batch(tuple(episodes))


def test_passes_approaches_from_two_sides() -> None:
    assert not list(judge_batch(NAME, _batch(0.6), PROTOCOL))


def test_finds_approaches_from_one_side() -> None:
    (found,) = judge_batch(NAME, _batch(0.1), PROTOCOL)
    assert "differ by 6 degrees; the protocol asks for 29" in found.message


def test_an_approach_is_seen_in_the_motion_itself() -> None:
    measures = batch_of(demonstration()).episodes[0].measures
    assert np.linalg.norm([measures[name] for name in APPROACH]) == pytest.approx(1)


def test_without_an_angle_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge_batch(NAME, _batch(0.6)))
