"""Operators change in time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.demonstrations import batch_of, demonstration
from tests.quality.ruled import judge_batch

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch

NAME = "rotation_off_protocol"
EPOCH_NS, MINUTE_NS = 1_760_000_000_000_000_000, 60_000_000_000


def _batch(operators: str, every_min: int = 10) -> Batch:
    recordings = [
        replace(
            demonstration(0, index=number, metadata={"operator": who, "station": "s1"}),
            epoch_ns=EPOCH_NS + number * every_min * MINUTE_NS,
        )
        for number, who in enumerate(operators)
    ]
    return batch_of(*recordings)


def test_passes_operators_who_change_within_the_hour() -> None:
    assert not list(judge_batch(NAME, _batch("aaaaabbbbbaaaaa")))


def test_a_pause_ends_a_spell() -> None:
    assert not list(judge_batch(NAME, _batch("aaaaaaaa", every_min=20)))


def test_finds_somebody_who_works_on() -> None:
    (found,) = judge_batch(NAME, _batch("baaaaaaaaab"))
    assert "a works 80 min on end at station s1; the protocol rotates after 60 min" in found.message
    assert found.episodes == (8, 9)


def test_without_operators_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge_batch(NAME, batch_of(demonstration())))
