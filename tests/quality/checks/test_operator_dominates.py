"""No operator makes too much of the batch."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import batch_of, demonstration

from corporeal.errors import NotAssessed
from corporeal.protocol import open_protocol
from corporeal.quality.batch import Batch
from corporeal.quality.checks.operator_dominates import find


def _made_by(names: str) -> Batch:
    episodes = [
        demonstration(0, index=number, metadata={"operator": name})
        for number, name in enumerate(names)
    ]
    return batch_of(*episodes)


def test_passes_when_the_work_is_shared() -> None:
    assert not list(find(_made_by("aabbccdd" * 2)))


def test_passes_when_a_small_batch_cannot_be_even() -> None:
    assert not list(find(_made_by("aaaabbbccd")))


def test_finds_an_operator_who_made_most_of_it() -> None:
    (found,) = find(_made_by("a" * 16 + "bcde"))
    assert "operator a made 16 of 20 episodes (80 %)" in found.message
    assert found.severity is None


def test_few_operators_are_a_note_and_an_uneven_pair_more_than_that() -> None:
    (note,) = find(_made_by("aaaaaabbbbbb"))
    assert note.severity == "note"
    found = list(find(_made_by("aaaaaaaaaabb")))
    assert [each.severity for each in found] == [None, "note"]


def test_the_protocol_sets_the_share() -> None:
    made = _made_by("aaabbbcccddd" + "a" * 8)
    strict = Batch(made.episodes, protocol=open_protocol("pick_place"))
    assert len(list(find(strict))) == 1


def test_a_handful_of_episodes_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="4 episodes"):
        list(find(_made_by("aaaa")))
