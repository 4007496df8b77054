"""Enough operators show every variant."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import batch_of, demonstration
from tests.quality.ruled import judge_batch

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch

NAME = "operators_off_protocol"


def _batch(operators: str) -> Batch:
    return batch_of(*(demonstration(0, index=number, metadata={"approach": "top", "operator": who})
                      for number, who in enumerate(operators)))  # fmt: skip


def test_passes_with_three_operators() -> None:
    assert not list(judge_batch(NAME, _batch("abc" * 4)))


def test_finds_a_variant_that_two_people_show() -> None:
    (found,) = judge_batch(NAME, _batch("ab" * 6))
    assert "top is shown by 2 operators in 12 episodes" in found.message


def test_few_episodes_are_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge_batch(NAME, _batch("ab")))
