"""Columns that a table holds for several rows are found, and slow coarse sensors are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.moving import rows, with_signal

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.signal_held import CHECK

STATE = "observation.state"
HAND = slice(22, 29)


def held(recording: Recording, every: int, columns: slice = HAND) -> Recording:
    """The same recording with some columns read once in so many rows."""
    signal = recording.signals[STATE]
    assert isinstance(signal, ArraySignal)
    values = signal.values.copy()
    values[:, columns] = values[np.arange(len(values)) // every * every, columns]
    return with_signal(recording, STATE, replace(signal, values=values))


def test_what_is_new_in_every_row_passes() -> None:
    assert list(CHECK.find(Subject(rows(30.0)))) == []


@pytest.mark.parametrize("every", [3, 4, 5])
def test_a_hand_that_is_held_is_found_and_measured(every: int) -> None:
    (finding,) = CHECK.find(Subject(held(rows(30.0), every)))
    assert (finding.stream, finding.value) == (STATE, every)
    assert f"{every} rows" in finding.message


@pytest.mark.parametrize(
    ("rate_hz", "severity"), [(100.0, "note"), (30.0, "note"), (15.0, "quarantine")]
)
def test_a_short_hold_is_a_note_and_a_long_one_asks_for_a_human(
    rate_hz: float, severity: str
) -> None:
    (finding,) = CHECK.find(Subject(held(rows(rate_hz), 4)))
    assert finding.severity == severity


def test_a_slow_sensor_of_coarse_steps_is_not_held() -> None:
    recording = rows(100.0)
    signal = recording.signals[STATE]
    assert isinstance(signal, ArraySignal)
    coarse = np.round(signal.values / 0.01) * 0.01
    assert not list(
        CHECK.find(Subject(with_signal(recording, STATE, replace(signal, values=coarse))))
    )


def test_whole_rows_that_repeat_are_left_to_frames_dropped() -> None:
    assert list(CHECK.find(Subject(held(rows(30.0), 4, slice(None))))) == []


def test_commands_alone_are_not_assessed() -> None:
    recording = rows(30.0)
    alone = replace(recording, signals={"action": recording.signals["action"]})
    with pytest.raises(NotAssessed, match="no sensor"):
        list(CHECK.find(Subject(alone)))


def test_an_arm_that_is_read_five_times_a_second_is_found_in_a_quick_stream() -> None:
    (finding,) = CHECK.find(Subject(held(rows(100.0), 20)))
    assert (finding.value, finding.severity) == (20, "quarantine")
