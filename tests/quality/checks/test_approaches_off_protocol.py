"""The batch has every approach often enough."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import batch_of, demonstration
from tests.quality.ruled import judge_batch

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch

NAME = "approaches_off_protocol"


def _batch(*approaches: str) -> Batch:
    return batch_of(*(demonstration(0, index=number, metadata={"approach": each})
                      for number, each in enumerate(approaches)))  # fmt: skip


def test_passes_with_the_minimum_of_each() -> None:
    assert not list(judge_batch(NAME, _batch(*("top", "side") * 3)))


def test_finds_an_approach_that_is_behind() -> None:
    (found,) = judge_batch(NAME, _batch(*("top",) * 5, "side"))
    assert (found.value, found.limit) == (1.0, 3.0)


def test_finds_an_approach_that_is_not_allowed() -> None:
    (found,) = judge_batch(NAME, _batch(*("top", "side") * 3, "blind"))
    assert found.episodes == (6,)


def test_unnamed_approaches_are_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge_batch(NAME, batch_of(demonstration())))
