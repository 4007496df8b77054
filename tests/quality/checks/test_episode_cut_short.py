"""Every episode goes on until its motion is over, as the others of its task do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.demonstrations import batch_of, demonstration

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality.checks.episode_cut_short import find

PEERS = tuple(demonstration(seed, motion_s=5.0 + 0.4 * seed) for seed in range(8))


def _cut(recording: Recording, seconds: float) -> Recording:
    """The recording as it is when the disk was full after so long."""
    signals = {}
    for label, signal in recording.signals.items():
        assert isinstance(signal, ArraySignal)
        kept = int((signal.time_ns < seconds * 1e9).sum())
        signals[label] = ArraySignal(signal.spec, signal.time_ns[:kept], signal[:kept])
    return replace(recording, signals=signals)


def test_passes_on_episodes_that_end_at_rest() -> None:
    assert not list(find(batch_of(*PEERS)))


def test_passes_on_a_quick_episode_that_comes_to_its_end() -> None:
    quick = demonstration(2, motion_s=2.0, before_s=0.5, after_s=1.5, index=30)
    assert not list(find(batch_of(*PEERS, quick)))


def test_passes_on_a_failure_that_says_so() -> None:
    failed = {"outcome": {"success": False, "failure": "dropped_object"}}
    short = _cut(demonstration(4, index=30, metadata=failed), 3.7)
    assert not list(find(batch_of(*PEERS, short)))


def test_finds_an_episode_that_ends_on_its_way() -> None:
    (found,) = find(batch_of(*PEERS, replace(_cut(PEERS[4], 4.3), index=30)))
    assert found.episodes == (30,)
    assert "still moves" in found.message
    assert "where the others rest" in found.message
    assert found.value == pytest.approx(4.28)


def test_finds_an_episode_that_ends_in_a_pause_far_from_where_the_others_do() -> None:
    paused = _cut(PEERS[4], 3.7)
    signals = {}
    for label, signal in paused.signals.items():
        assert isinstance(signal, ArraySignal)
        values, still = signal[:].copy(), int((signal.time_ns < 2.6e9).sum())
        values[still:] = values[still]
        signals[label] = ArraySignal(signal.spec, signal.time_ns, values)
    (found,) = find(batch_of(*PEERS, replace(paused, signals=signals, index=30)))
    assert found.episodes == (30,)
    assert "stands where none of the others ends" in found.message


def test_finds_it_among_tasks_that_every_episode_words_anew() -> None:
    worded = [demonstration(n, task=f"take cup {n}", motion_s=5.0 + 0.4 * n) for n in range(8)]
    assert not list(find(batch_of(*worded)))
    (found,) = find(batch_of(*worded, replace(_cut(worded[4], 4.3), index=30)))
    assert found.episodes == (30,)


def test_is_silent_where_the_others_end_in_motion_too() -> None:
    moving = [_cut(each, 4.0 + 0.1 * number) for number, each in enumerate(PEERS)]
    with pytest.raises(NotAssessed, match="do not end at rest"):
        list(find(batch_of(*moving, replace(_cut(PEERS[4], 2.2), index=30))))


def test_says_that_it_cannot_judge_a_few() -> None:
    with pytest.raises(NotAssessed, match="5 episodes"):
        list(find(batch_of(*PEERS[:5])))
