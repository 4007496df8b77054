"""Joints that tremble are found, and who made them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import POSITION, altered, changed, column, reaching, table, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.joint_trembles import CHECK


def tremble(hertz: float, size: float, number: int, rate_hz: float) -> object:
    def edit(values: np.ndarray) -> None:
        values[:, number] += size * np.sin(2 * np.pi * hertz * np.arange(len(values)) / rate_hz)

    return edit


def test_smooth_motions_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


@pytest.mark.parametrize(("hertz", "size"), [(8.0, 0.02), (25.0, 0.005)])
def test_a_servo_that_chatters_is_found(hertz: float, size: float) -> None:
    elbow = column("right_elbow")
    (finding,) = CHECK.find(altered(joint_position=tremble(hertz, size, elbow, 100.0)))  # type: ignore[arg-type]
    assert finding.stream == POSITION
    assert f"right_elbow_joint of {POSITION} trembles at {hertz:.0f} Hz" in finding.message
    assert "its target does not" in finding.message


def test_a_hand_that_trembles_is_found_only_when_it_is_more_than_hurry() -> None:
    elbow = column("right_elbow")
    for size, count in ((0.02, 0), (0.04, 1)):
        subject = altered(
            joint_position=tremble(8.0, size, elbow, 100.0),  # type: ignore[arg-type]
            joint_position_target=tremble(8.0, size, elbow, 50.0),  # type: ignore[arg-type]
        )
        assert len(list(CHECK.find(subject))) == count


def test_a_command_that_trembles_is_found_though_the_joint_hardly_follows() -> None:
    spoilt = changed(table(), joint_position_target=tremble(7.0, 0.04, 3, 30.0))  # type: ignore[arg-type]
    (finding,) = CHECK.find(Subject(spoilt))
    assert finding.stream == "action"
    assert "left_elbow_joint of action trembles at 7 Hz by 0.04" in finding.message


def test_a_command_of_steps_asks_for_no_positions_and_may_shake() -> None:
    def shake(values: np.ndarray) -> None:
        values[:] = np.random.default_rng(0).uniform(-1, 1, values.shape)

    assert list(CHECK.find(Subject(changed(table(), joint_position_target=shake)))) == []


def test_a_reading_that_goes_to_and_fro_between_two_steps_passes() -> None:
    def dither(values: np.ndarray) -> None:
        dice = np.random.default_rng(0)
        values[:] = np.round((values + dice.normal(0, 0.006, values.shape)) / 0.03) * 0.03

    assert list(CHECK.find(Subject(changed(table(), joint_position=dither)))) == []


def test_a_column_that_is_refreshed_slowly_passes() -> None:
    def steps(values: np.ndarray) -> None:
        values[:, 3] = np.repeat(values[::3, 3], 3)[: len(values)]

    assert list(CHECK.find(Subject(changed(table(), joint_position=steps)))) == []


def test_a_recording_without_a_state_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), "joint_position")))
