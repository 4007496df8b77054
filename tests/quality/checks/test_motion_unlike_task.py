"""Every episode resembles the others of its task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import ACTION, STATE, batch_of, demonstration, edited

from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality.checks.motion_unlike_task import find

PEERS = tuple(demonstration(seed) for seed in range(10))


def _other_arm(recording: Recording) -> Recording:
    for label in (STATE, ACTION):
        values = np.array(recording.signals[label][:])
        recording = edited(recording, label, np.roll(values, 4, axis=1))
    return recording


def test_passes_on_episodes_of_one_task() -> None:
    assert not list(find(batch_of(*PEERS)))


def test_passes_when_one_of_them_uses_the_other_hand() -> None:
    assert not list(find(batch_of(*PEERS[1:], _other_arm(PEERS[0]))))


def test_finds_the_motion_of_another_task() -> None:
    both = PEERS[0].signals[STATE][:] + _other_arm(demonstration(20)).signals[STATE][:]
    stranger = replace(edited(PEERS[0], STATE, both), index=30)
    (found,) = find(batch_of(*PEERS[1:], stranger))
    assert found.episodes == (30,)
    assert "more than in any" in found.message


def test_finds_an_episode_that_hardly_moves() -> None:
    (found,) = find(batch_of(*PEERS[1:], demonstration(0, reach_rad=0.1, index=30)))
    assert found.episodes == (30,)
    assert "less than in any" in found.message


def test_finds_an_episode_that_lasts_far_longer() -> None:
    (found,) = find(batch_of(*PEERS[1:], demonstration(0, motion_s=40.0, index=30)))
    assert "it lasts" in found.message


def test_too_few_episodes_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="has 5 episodes"):
        list(find(batch_of(*PEERS[:5])))
