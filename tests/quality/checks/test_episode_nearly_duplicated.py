"""No episode is another one again with noise, a shift or a cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import (
    STATE,
    batch_of,
    demonstration,
    edited,
    rows,
    without,
)

from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality.checks.episode_nearly_duplicated import find

OTHERS = tuple(demonstration(seed) for seed in range(6))


def _noisy(recording: Recording, size: float) -> Recording:
    values = np.array(recording.signals[STATE][:])
    dice = np.random.default_rng(9)
    return edited(recording, STATE, values + dice.normal(0, size, values.shape))


def _cut(recording: Recording, first: int, last: int) -> Recording:
    return rows(recording, np.arange(first, len(recording.signals[STATE]) - last))


def test_passes_on_repetitions_of_a_task() -> None:
    assert not list(find(batch_of(*OTHERS)))


def test_passes_on_robots_that_only_stand() -> None:
    standing = [demonstration(seed, reach_rad=0.02) for seed in range(6)]
    assert not list(find(batch_of(*standing)))


@pytest.mark.parametrize(
    "copy",
    [
        _noisy(OTHERS[2], 1e-4),
        _noisy(OTHERS[2], 1e-3),
        _cut(OTHERS[2], 10, 0),
        _cut(OTHERS[2], 0, 10),
        _noisy(_cut(OTHERS[2], 30, 120), 1e-3),
    ],
    ids=["noise of 0.1 mrad", "noise of 1 mrad", "cut in front", "cut behind", "cut and noise"],
)
def test_finds_a_copy_that_was_changed_a_little(copy: Recording) -> None:
    (found,) = find(batch_of(*OTHERS, replace(copy, index=50)))
    assert found.episodes == (2, 50)


def test_an_exact_copy_is_left_to_another_check() -> None:
    assert not list(find(batch_of(*OTHERS, replace(OTHERS[1], index=50))))


def test_episodes_without_a_state_or_alone_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="needs two"):
        list(find(batch_of(OTHERS[0])))
    bare = [without(each, *each.signals) for each in OTHERS[:2]]
    with pytest.raises(NotAssessed, match="no state"):
        list(find(batch_of(*bare)))


def test_episodes_made_with_the_same_few_keys_pass() -> None:
    width = OTHERS[0].signals[STATE][:1].shape[1]
    keys = np.random.default_rng(0).choice([-0.05, 0.0, 0.05], size=(8, width))
    made = []
    for number, recording in enumerate(OTHERS[:2]):
        pressed = np.random.default_rng(number).integers(0, 8, len(recording.signals[STATE]))
        bare = without(recording, *(label for label in recording.signals if label != STATE))
        made.append(edited(bare, STATE, keys[pressed]))
    assert not list(find(batch_of(*made)))
