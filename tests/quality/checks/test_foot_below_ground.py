"""Feet in the floor are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.foot_below_ground import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_four_centimetres_into_the_floor_are_found_in_their_frames() -> None:
    def sink(values: np.ndarray) -> None:
        values[300:400, 2] -= 0.04

    (finding,) = found(altered("debug/base_pose", sink))
    assert finding.frames == ((300, 400),)
    assert finding.value == pytest.approx(0.04, abs=0.003)


def test_a_recording_without_a_base_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no base_pose"):
        found(without("base_pose"))


def test_a_robot_that_lands_after_a_jump_is_on_the_ground() -> None:
    def jump(values: np.ndarray) -> None:
        values[100:, 2] += 0.25 * np.abs(np.sin(np.arange(len(values) - 100) / 40))

    assert found(altered("debug/base_pose", jump)) == []


def test_the_ground_that_a_retargeted_episode_states_is_taken() -> None:
    def lower(values: np.ndarray) -> None:
        values[:, 2] -= 0.2
        values[300:400, 2] -= 0.04

    stated = {"retargeting": {"ground_height_m": -0.2, "airborne": []}}
    sunk = altered("debug/base_pose", lower).recording
    (finding,) = found(Subject(replace(sunk, metadata=stated)))
    assert finding.frames == ((300, 400),)
