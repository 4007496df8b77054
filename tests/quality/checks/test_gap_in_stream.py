"""Streams that fall silent are found, and late stamps are not taken for silence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.moving import (
    IMU,
    POSITION,
    TARGET,
    VELOCITY,
    moving,
    restamped,
    rows,
    unstated,
    without,
)

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.gap_in_stream import CHECK


def test_streams_without_gaps_pass() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


def test_sixty_milliseconds_of_silence_fail() -> None:
    (finding,) = CHECK.find(Subject(without(moving(), POSITION, slice(400, 405))))
    assert (finding.stream, finding.frames) == (POSITION, ((399, 401),))
    assert finding.severity == "fail"
    assert finding.value == pytest.approx(0.06)
    assert "about 5 lost" in finding.message


def test_one_lost_sample_of_a_fast_stream_is_tolerated() -> None:
    assert list(CHECK.find(Subject(without(moving(), IMU, [900])))) == []


def test_two_lost_samples_in_a_row_ask_for_a_human() -> None:
    (finding,) = CHECK.find(Subject(without(moving(), IMU, slice(900, 902))))
    assert (finding.stream, finding.severity) == (IMU, "quarantine")


@pytest.mark.parametrize("rate_hz", [10.0, 20.0, 30.0])
def test_one_lost_row_of_a_slow_set_fails(rate_hz: float) -> None:
    (finding,) = CHECK.find(Subject(without(rows(rate_hz), "action", [50])))
    assert (finding.stream, finding.frames, finding.severity) == ("action", ((49, 51),), "fail")


def test_a_sample_stamped_late_is_no_gap() -> None:
    def edit(when: np.ndarray) -> np.ndarray:
        when[50] += 25_000_000
        return when

    assert list(CHECK.find(Subject(restamped(rows(30.0), "action", edit)))) == []


def test_events_are_not_assessed() -> None:
    recording = moving()
    signal = recording.signals[POSITION]
    spec = signal.spec.model_copy(update={"rate_hz": None})
    events = replace(recording, signals={POSITION: replace(signal, spec=spec)})  # type: ignore[type-var]
    with pytest.raises(NotAssessed, match="with a rate"):
        list(CHECK.find(Subject(events)))


def test_a_late_loop_of_a_bag_has_no_gap() -> None:
    def late(when: np.ndarray) -> np.ndarray:
        when[400:] += 23_000_000
        return when

    assert list(CHECK.find(Subject(unstated(restamped(moving(), POSITION, late))))) == []


def test_lost_samples_of_a_bag_are_a_note_where_whole_steps_are_missing() -> None:
    (finding,) = CHECK.find(Subject(unstated(without(moving(), IMU, slice(900, 904)))))
    assert (finding.stream, finding.severity) == (IMU, "note")
    assert "usually comes" in finding.message


def test_a_second_of_silence_in_a_bag_asks_for_a_human() -> None:
    (finding,) = CHECK.find(Subject(unstated(without(moving(), IMU, slice(900, 1100)))))
    assert (finding.stream, finding.severity) == (IMU, "quarantine")


def test_commands_of_a_bag_may_pause() -> None:
    assert list(CHECK.find(Subject(unstated(without(moving(), TARGET, slice(100, 200)))))) == []


def test_parts_of_one_message_are_one_finding() -> None:
    lost = slice(400, 405)
    both = without(without(moving(), POSITION, lost), VELOCITY, lost)
    (finding,) = CHECK.find(Subject(both))
    assert finding.stream == POSITION
    assert VELOCITY in finding.message


def test_a_silence_of_a_bag_is_found_that_is_alone_in_its_stream() -> None:
    (finding,) = CHECK.find(Subject(unstated(without(moving(), IMU, slice(900, 970)))))
    assert (finding.stream, finding.severity) == (IMU, "quarantine")
