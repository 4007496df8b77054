"""Frames lost or repeated behind even stamps are found, and nothing else is taken for that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.quality.moving import POSITION, moving, rows, with_signal, without

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.frames_dropped import CHECK


def reordered(recording: Recording, order: NDArray[np.int64]) -> Subject:
    """The rows in another order, on stamps that stay even."""
    signals: dict[str, Any] = {}
    for label, was in recording.signals.items():
        assert isinstance(was, ArraySignal)
        signals[label] = replace(was, time_ns=was.time_ns[: len(order)], values=was.values[order])
    return Subject(replace(recording, signals=signals))


@pytest.mark.parametrize("rate_hz", [20.0, 30.0, 50.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_smooth_motion_passes(rate_hz: float, seed: int) -> None:
    assert list(CHECK.find(Subject(rows(rate_hz, seed=seed)))) == []


@pytest.mark.parametrize("rate_hz", [20.0, 30.0, 50.0, 100.0])
@pytest.mark.parametrize("lost", [1, 2, 5])
def test_lost_frames_are_found_with_their_number(rate_hz: float, lost: int) -> None:
    whole = rows(rate_hz)
    count = len(whole.signals["action"])
    place = count // 2
    order = np.delete(np.arange(count), slice(place + 1, place + 1 + lost))
    (finding,) = CHECK.find(reordered(whole, order))
    assert finding.stream == "observation.state"
    assert finding.frames == ((place, place + 2),)
    assert finding.value == pytest.approx(lost, abs=max(1.0, 0.4 * lost))


@pytest.mark.parametrize("copies", [1, 3])
def test_repeated_frames_are_found(copies: int) -> None:
    order = np.insert(np.arange(300), 151, [150] * copies)
    found = list(CHECK.find(reordered(rows(30.0), order)))
    assert any(each.frames == ((151, 151 + copies),) for each in found)


def test_a_robot_that_leaps_while_its_commands_do_not_has_lost_no_frame() -> None:
    whole = rows(30.0)
    state = whole.signals["observation.state"]
    assert isinstance(state, ArraySignal)
    order = np.delete(np.arange(len(state)), slice(151, 154))
    values = np.concatenate((state.values[order], state.values[-3:]))
    waited = with_signal(whole, "observation.state", replace(state, values=values))
    assert list(CHECK.find(Subject(waited))) == []


def test_a_gap_that_the_stamps_show_is_left_to_another_check() -> None:
    assert list(CHECK.find(Subject(without(moving(), POSITION, slice(400, 405))))) == []


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_constant_and_missing_values_pass(fill: float) -> None:
    whole = rows(30.0)
    state = whole.signals["observation.state"]
    assert isinstance(state, ArraySignal)
    still = replace(state, values=np.full_like(state.values, fill))
    assert list(CHECK.find(Subject(with_signal(whole, "observation.state", still)))) == []


def test_a_motion_of_single_jerks_passes() -> None:
    whole = rows(30.0)
    state = whole.signals["observation.state"]
    assert isinstance(state, ArraySignal)
    jerky = state.values.copy()
    jerky[200:] += 0.1 * np.sign(np.random.default_rng(0).normal(size=29))
    leapt = with_signal(whole, "observation.state", replace(state, values=jerky))
    assert list(CHECK.find(Subject(leapt))) == []


def test_a_handful_of_rows_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(Subject(rows(30.0, seconds=0.3))))


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_an_action_that_is_a_copy_of_the_state_is_no_witness_of_a_loss(ahead: int) -> None:
    whole = rows(30.0)
    state, action = whole.signals["observation.state"], whole.signals["action"]
    assert isinstance(state, ArraySignal)
    assert isinstance(action, ArraySignal)
    order = np.delete(np.arange(len(state)), slice(151, 156))
    subject = reordered(whole, order)
    leapt = subject.recording.signals["observation.state"]
    assert isinstance(leapt, ArraySignal)
    copy = np.concatenate((leapt.values[ahead:], leapt.values[len(leapt) - ahead :]))
    told = replace(action, time_ns=leapt.time_ns, values=copy)
    copied = with_signal(subject.recording, "action", told)
    assert {each.severity for each in CHECK.find(Subject(copied))} == {"note"}
    assert {each.severity for each in CHECK.find(subject)} == {None}
