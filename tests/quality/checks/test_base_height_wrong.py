"""A base in other units, or from another floor, is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.base_height_wrong import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


@pytest.mark.parametrize(("factor", "unit"), [(100, "centimetres"), (1000, "millimetres")])
def test_another_unit_is_named(factor: float, unit: str) -> None:
    def scale(values: np.ndarray) -> None:
        values[:, :3] *= factor

    (finding,) = found(altered("debug/base_pose", scale))
    assert unit in finding.message
    assert finding.severity == "fail"


def test_a_constant_offset_is_found() -> None:
    def sink(values: np.ndarray) -> None:
        values[:, 2] -= 0.1

    (finding,) = found(altered("debug/base_pose", sink))
    assert finding.value == pytest.approx(-0.1, abs=0.002)


def test_a_recording_without_a_base_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no base_pose"):
        found(without("base_pose"))


def test_a_robot_that_jumps_and_lands_passes() -> None:
    def jump(values: np.ndarray) -> None:
        values[100:, 2] += 0.25 * np.abs(np.sin(np.arange(len(values) - 100) / 40))

    assert found(altered("debug/base_pose", jump)) == []


def test_a_robot_on_a_box_is_in_no_other_unit() -> None:
    def climb(values: np.ndarray) -> None:
        values[:, 2] += 0.85

    (finding,) = found(altered("debug/base_pose", climb))
    assert " in " not in finding.message.partition("stands at")[2]
    assert finding.severity != "fail"


def test_frames_in_the_air_do_not_count_where_the_episode_names_them() -> None:
    def fly(values: np.ndarray) -> None:
        values[: int(0.97 * len(values)), 2] += 0.3

    flown = altered("debug/base_pose", fly).recording
    end = int(0.97 * len(flown.signals["debug/base_pose"]))
    stated = {"retargeting": {"ground_height_m": 0.0, "airborne": [[0, end]]}}
    assert len(list(CHECK.find(Subject(flown)))) == 1
    assert list(CHECK.find(Subject(replace(flown, metadata=stated)))) == []
