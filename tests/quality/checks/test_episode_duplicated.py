"""No episode is in the set twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.demonstrations import batch_of, demonstration, told

from corporeal.errors import NotAssessed
from corporeal.quality.checks.episode_duplicated import find


def test_passes_on_different_episodes() -> None:
    assert not list(find(batch_of(*(demonstration(seed) for seed in range(4)))))


def test_finds_a_copy_whatever_it_is_called() -> None:
    copy = replace(told(demonstration(1), operator="another"), index=7, id="another")
    (found,) = find(batch_of(*(demonstration(seed) for seed in range(4)), copy))
    assert found.episodes == (7,)
    assert "470 frames" in found.message


def test_a_copy_of_a_stored_episode_is_named_though_the_stored_one_has_the_later_number() -> None:
    stored = replace(told(demonstration(1)), index=7, id="0-stored")
    batch = batch_of(*(demonstration(seed) for seed in range(4)), stored)
    (found,) = find(replace(batch, beside=frozenset({7})))
    assert found.episodes == (1,)
    assert "of episode 7" in found.message


def test_one_episode_cannot_be_a_copy() -> None:
    with pytest.raises(NotAssessed):
        list(find(batch_of(demonstration())))
