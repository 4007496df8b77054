"""Episodes that name no operator among others that do are found."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import batch_of, demonstration

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch
from corporeal.quality.checks.operator_missing import CHECK


def _made_by(*names: str) -> Batch:
    episodes = [
        demonstration(0, index=number, metadata={"operator": name} if name else {})
        for number, name in enumerate(names)
    ]
    return batch_of(*episodes)


def test_a_set_that_names_everybody_passes() -> None:
    assert not list(CHECK.find(_made_by("a", "b", "a", "b", "c")))


def test_a_set_that_names_hardly_anybody_was_not_asked_to() -> None:
    assert not list(CHECK.find(_made_by("a", "b", "a", "b", "", "", "", "")))


def test_the_one_episode_without_a_name_is_found() -> None:
    (finding,) = CHECK.find(_made_by("a", "b", "", "b", "c"))
    assert finding.episodes == (2,)


def test_episodes_that_a_machine_made_need_no_name() -> None:
    people = _made_by("a", "b", "a", "b", "c").episodes
    made = [
        demonstration(0, index=number, metadata={"mode": "synthetic"}) for number in range(10, 12)
    ]
    assert not list(CHECK.find(Batch((*people, *batch_of(*made).episodes))))


def test_a_set_without_names_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(_made_by("", "", "")))
