"""Columns in degrees, in steps of a servo or that wrap are read as what they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.quality.reaching import table

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.quality import Subject
from corporeal.quality.assessment import assess
from corporeal.quality.evidence.columns import (
    TICKS,
    TURN,
    columns_of,
    radians_in,
    switches_in,
    ticks_of,
    unwrap,
)

JOINTS = (
    "joint_trembles", "signal_spikes", "joint_jumps", "idle_too_long", "nothing_moves",
    "joint_offset", "joints_swapped", "joint_sign_flipped", "joint_stuck", "angles_in_degrees",
)  # fmt: skip
Conversion = Callable[[np.ndarray], np.ndarray]


def _servo(values: np.ndarray) -> np.ndarray:
    return np.round(values / TURN * TICKS) + TICKS // 2


def _rounded_degrees(values: np.ndarray) -> np.ndarray:
    step = 360 / TICKS
    return np.asarray(np.round(np.degrees(values) / step) * step)


def _wrapped(values: np.ndarray) -> np.ndarray:
    """Degrees from 0 to 360: the joints pass zero."""
    return np.asarray(np.degrees(values - np.median(table_values(), axis=0)) % 360)


def table_values() -> np.ndarray:
    """The state of the table, whose middle both streams are turned by."""
    return np.asarray(table().signals["observation.state"][:])[:, :14]


def _converted(convert: Conversion, unit: str = "1") -> Recording:
    """The arms of a table in another unit, of a robot that nobody knows."""
    recording = table()
    signals = dict(recording.signals)
    for label in ("observation.state", "action"):
        signal = recording.signals[label]
        values = convert(np.asarray(signal[:], np.float64)[:, :14])
        names = tuple(f"motor_{number}" for number in range(values.shape[1]))
        spec = signal.spec.model_copy(
            update={"components": names, "unit": unit, "shape": (values.shape[1],)}
        )
        signals[label] = ArraySignal(spec, np.asarray(signal.time_ns), values)
    return replace(recording, signals=signals, embodiment=None)


@pytest.mark.parametrize("convert", [np.degrees, _rounded_degrees, _servo, _wrapped])
def test_joints_in_any_unit_pass(convert: Conversion) -> None:
    findings = assess(Subject(_converted(convert)), only=JOINTS).findings
    assert [finding.message for finding in findings] == []


@pytest.mark.parametrize("convert", [np.degrees, _servo])
def test_a_leap_is_found_in_any_unit(convert: Conversion) -> None:
    recording = _converted(convert)
    state = recording.signals["observation.state"]
    values = np.asarray(state[:])
    values[100, 3] += convert(np.full((1, 14), 0.4))[0, 0] - convert(np.zeros((1, 14)))[0, 0]
    leaps = ArraySignal(state.spec, np.asarray(state.time_ns), values)
    spoilt = replace(recording, signals={**recording.signals, "observation.state": leaps})
    (finding,) = assess(Subject(spoilt), only=("signal_spikes",)).findings
    assert finding.frames == ((100, 101),)


def test_a_unit_is_told_by_how_far_the_columns_go() -> None:
    small, large = np.array([[0.5, 2.0]]), np.array([[4.0, 120.0]])
    nobody = np.zeros(2, bool)
    assert radians_in(small, ("1", "1"), nobody).tolist() == [1.0, 1.0]
    assert radians_in(large, ("1", "1"), nobody) == pytest.approx(180 / np.pi)
    assert radians_in(large, ("deg", "deg"), nobody) == pytest.approx(180 / np.pi)
    assert radians_in(large, ("m", "m"), nobody).tolist() == [1.0, 1.0]
    assert radians_in(10 * large, ("1", "1"), nobody) == pytest.approx(TICKS / TURN)


def test_a_wrap_is_undone_and_a_jump_is_not() -> None:
    angle = np.linspace(3.0, 3.6, 50)[:, None]
    wrapped = (angle + np.pi) % TURN - np.pi
    assert unwrap(wrapped, np.ones(1)) == pytest.approx(angle)
    jumps = np.where(np.arange(50)[:, None] < 25, 0.0, 1.5)
    assert unwrap(jumps, np.ones(1)) is jumps


def test_the_smallest_step_of_an_encoder_is_measured() -> None:
    steps = np.round(np.sin(np.linspace(0, 9, 300))[:, None] / 0.01) * 0.01
    assert ticks_of(steps) == pytest.approx(0.01)
    assert ticks_of(np.zeros((50, 1))).tolist() == [0.0]


def test_open_and_shut_is_a_switch_and_a_motion_is_none() -> None:
    time = np.arange(400)
    shut = np.clip((time % 200 - 100) / 3, 0, 1)
    both = np.column_stack([shut, np.sin(time / 60)])
    assert switches_in(both).tolist() == [True, False]


def test_a_stream_is_read_once() -> None:
    subject = Subject(table())
    assert columns_of(subject, "action") is columns_of(subject, "action")
