"""A floor that slides away under both feet is taken back; steps and slips are the person's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.retargeting.people import walking_person
from tests.retargeting.test_contacts import silent, standing_person

from corporeal.geometry import Array
from corporeal.retargeting.goal.contacts import LEAST_M, ground_of, remove_floor_drift
from corporeal.retargeting.motion import POINTS, HumanMotion
from corporeal.retargeting.reader import read_motion


def _carried(motion: HumanMotion, way_m: Array) -> HumanMotion:
    """The whole person moved along a way (T, 2)."""
    moved = motion.positions.copy()
    moved[:, :, :2] += way_m[:, None]
    return replace(motion, positions=moved)


@pytest.mark.parametrize("rate_hz", [30.0, 60.0, 120.0])
def test_a_person_who_walks_on_firm_ground_is_left_alone(rate_hz: float) -> None:
    for person in (walking_person(600, rate_hz), silent(walking_person(600, rate_hz))):
        assert remove_floor_drift(person, ground_of(person)) is person


def test_a_floor_that_slides_under_a_standing_person_is_taken_back_and_told() -> None:
    person = standing_person(240)
    drift = 0.12 * (1 - np.cos(np.pi * np.arange(240) / 240))[:, None] * [0.6, -0.8]
    found = remove_floor_drift(_carried(person, drift), ground_of(person))
    rest = found.point("pelvis") - person.point("pelvis")
    assert np.abs(rest - rest[0]).max() < 0.02
    assert "standing feet drift together by up to" in found.origin.notes[-1]


def test_a_foot_that_slides_alone_is_the_persons_own() -> None:
    person = standing_person(240)
    way = np.linspace(0, 0.2, 240)
    for part in ("ankle", "heel", "toe"):
        person.positions[:, POINTS.index(f"left_{part}"), 0] += way
    assert remove_floor_drift(person, ground_of(person)) is person


def test_a_little_drift_is_left_alone() -> None:
    person = standing_person(240)
    drift = np.linspace(0, 0.8 * LEAST_M, 240)[:, None] * [1.0, 0.0]
    carried = _carried(person, drift)
    assert remove_floor_drift(carried, ground_of(carried)) is carried


def test_a_real_jump_and_walk_of_markers_is_left_alone(shared_data: Path) -> None:
    motion = read_motion(shared_data / "mocap" / "cmu_asf_amc_bvh" / "01_01.bvh")
    assert remove_floor_drift(motion, ground_of(motion)) is motion
