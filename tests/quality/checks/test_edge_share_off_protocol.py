"""A batch has its share of edge cases."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import batch_of, demonstration
from tests.quality.ruled import judge_batch

from corporeal.errors import NotAssessed
from corporeal.protocol import open_protocol
from corporeal.quality.batch import Batch

NAME = "edge_share_off_protocol"
PROTOCOL = open_protocol("pick_place").model_copy(update={"edge_case_share": 0.2})


def _batch(shown: int) -> Batch:
    case = {"edge_case": "The object leaves the table"}
    return batch_of(*(demonstration(0, index=number, metadata=case if number < shown else {})
                      for number in range(10)))  # fmt: skip


def test_passes_with_two_in_ten() -> None:
    assert not list(judge_batch(NAME, _batch(2), PROTOCOL))


def test_finds_one_in_ten() -> None:
    (found,) = judge_batch(NAME, _batch(1), PROTOCOL)
    assert "1 of 10 episodes show an edge case (10 %)" in found.message


def test_without_a_share_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge_batch(NAME, _batch(1)))
