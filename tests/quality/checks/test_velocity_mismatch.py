"""Velocities that are not the rate of the positions are found."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.quality.reaching import (
    POSITION,
    VELOCITY,
    altered,
    column,
    exchange,
    reaching,
    table,
    turn,
)
from tests.retargeting.made_results import RATE_HZ, result_of, squatting

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.velocity_mismatch import CHECK
from corporeal.retargeting.robot_episode import recording_of


def scale(factor: float) -> object:
    def edit(values: np.ndarray) -> None:
        values *= factor

    return edit


def test_velocities_that_fit_pass() -> None:
    for seed in range(3):
        assert list(CHECK.find(Subject(reaching(seed=seed)))) == []


@pytest.mark.parametrize("factor", [0.7, 1.3, 180 / np.pi])
def test_a_velocity_in_another_unit_is_found(factor: float) -> None:
    findings = list(CHECK.find(altered(joint_velocity=scale(factor))))  # type: ignore[arg-type]
    assert len(findings) == 1
    assert re.search(r" and \d+ more", findings[0].message)
    assert {finding.stream for finding in findings} == {VELOCITY}


def test_exchanged_velocities_are_found() -> None:
    edit = exchange(column("right_shoulder_pitch"), column("right_elbow"))
    (finding,) = CHECK.find(altered(joint_velocity=edit))
    assert finding.stream == VELOCITY
    assert "exchanged" in finding.message


def test_a_turned_velocity_is_found() -> None:
    (finding,) = CHECK.find(altered(joint_velocity=turn(column("right_shoulder_pitch"))))
    assert "sign" in finding.message


def test_a_recording_without_velocities_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no joint_velocity"):
        list(CHECK.find(Subject(table())))


@pytest.mark.parametrize("rising", [2.0, 3.0, 4.0, 5.0, 6.0])
def test_a_clip_of_half_a_second_that_speeds_up_passes(rising: float) -> None:
    q, base = squatting(61)
    q[:, 20] = 0.1 * np.expm1(rising * np.arange(61) / RATE_HZ)
    assert list(CHECK.find(Subject(recording_of(result_of(q, base))))) == []


def test_steps_of_held_positions_are_their_rate() -> None:
    recording = reaching()
    held = np.repeat(np.array(recording.signals[POSITION][:])[::2], 2, axis=0)
    steps = np.diff(held, axis=0, append=held[-1:]) * 100.0

    def hold(values: np.ndarray) -> None:
        values[:] = held[: len(values)]

    def step(values: np.ndarray) -> None:
        values[:] = steps[: len(values)]

    assert list(CHECK.find(altered(joint_position=hold, joint_velocity=step))) == []
