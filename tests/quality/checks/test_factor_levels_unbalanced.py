"""Levels have the share that was planned."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import batch_of, demonstration

from corporeal.errors import NotAssessed
from corporeal.protocol import open_protocol
from corporeal.quality.batch import Batch
from corporeal.quality.checks.factor_levels_unbalanced import find


def _batch(hands: str) -> Batch:
    words = {"l": "left", "r": "right"}
    episodes = [
        demonstration(0, index=number, metadata={"variation": {"hand": words[hand]}})
        for number, hand in enumerate(hands)
    ]
    return batch_of(*episodes, protocol=open_protocol("pick_place"))


def test_passes_within_ten_percent_of_the_plan() -> None:
    assert not list(find(_batch("lr" * 9 + "ll")))


def test_finds_levels_that_are_off_the_plan() -> None:
    found = list(find(_batch("l" * 14 + "r" * 6)))
    assert [each.message.split(" makes")[0] for each in found] == ["hand left", "hand right"]
    assert found[0].value == pytest.approx(0.7)


def test_few_episodes_and_no_plan_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="expected 20"):
        list(find(_batch("lr")))
    with pytest.raises(NotAssessed, match="no protocol"):
        list(find(batch_of(demonstration())))
