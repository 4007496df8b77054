"""Heels and toes stand when they do, and not when they do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.retargeting.people import walking_person

from corporeal.geometry import Array
from corporeal.retargeting.goal.footholds import (
    LEAST_M,
    SHORTEST_S,
    ground_of,
    remove_floor_drift,
)
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion
from corporeal.retargeting.reader import read_motion
from corporeal.signal.runs import runs


def silent(motion: HumanMotion, *parts: str) -> HumanMotion:
    """The motion without stated contacts, and without some points of both feet."""
    positions, confidence = motion.positions.copy(), motion.confidence.copy()
    columns = [POINTS.index(f"{side}_{part}") for side in SIDES for part in parts]
    positions[:, columns] = np.nan
    confidence[:, columns] = 0.0
    return replace(motion, positions=positions, confidence=confidence, contacts=None)


def standing_person(frames: int = 120, rate_hz: float = 60.0) -> HumanMotion:
    """Somebody who stands on both feet all the time."""
    still = replace(walking_person(16, 60.0), rate_hz=rate_hz, contacts=None, rotations={}).part(
        15, 16
    )
    positions = np.repeat(still.positions, frames, axis=0)
    for part in ("hip", "knee", "ankle", "heel", "toe"):
        left = positions[:, POINTS.index(f"left_{part}")]
        positions[:, POINTS.index(f"right_{part}")] = left * [1.0, -1.0, 1.0]
    return replace(still, positions=positions, confidence=np.ones((frames, len(POINTS))))


def raised(motion: HumanMotion, height_m: Array) -> HumanMotion:
    """The whole person lifted by a height in every frame."""
    return replace(motion, positions=motion.positions + height_m[:, None, None] * [0.0, 0.0, 1.0])


def _edges(touches: NDArray[np.bool_]) -> list[int]:
    return [edge for run in runs(touches) for edge in run]


@pytest.mark.parametrize("rate_hz", [30.0, 60.0, 120.0, 240.0])
@pytest.mark.parametrize("missing", [(), ("heel",)])
def test_the_contacts_of_a_walk_are_found_where_they_are(
    rate_hz: float, missing: tuple[str, ...]
) -> None:
    person = walking_person(int(3 * rate_hz), rate_hz)
    assert person.contacts is not None
    found = ground_of(silent(person, *missing)).touches
    for foot in range(2):
        for part in range(2):
            true = _edges(person.contacts[:, foot, part] > 0)
            ours = _edges(found[:, foot, part])
            assert len(ours) == len(true)
            assert np.abs(np.subtract(ours, true)).max() <= max(2, 0.04 * rate_hz)


def test_stated_contacts_are_taken_as_they_are() -> None:
    person = walking_person(120, 60.0)
    assert person.contacts is not None
    stated = np.roll(person.contacts, 20, axis=0)
    found = ground_of(replace(person, contacts=stated))
    np.testing.assert_array_equal(found.touches, stated > 0)
    assert found.ankle == pytest.approx(0.07, abs=0.002)
    assert found.toe == pytest.approx(0.0, abs=0.002)


def test_without_toes_a_foot_stands_while_its_ankle_does() -> None:
    person = walking_person(180, 60.0)
    assert person.contacts is not None
    ground = ground_of(silent(person, "heel", "toe"))
    np.testing.assert_array_equal(ground.touches[..., 0], ground.touches[..., 1])
    wrong = ground.touches[..., 0] != (person.contacts[..., 0] > 0)
    assert wrong.mean() < 0.06
    assert ground.ankle == pytest.approx(0.07, abs=0.003)


def test_a_person_who_stands_touches_the_ground_all_the_time() -> None:
    assert ground_of(standing_person()).touches.all()
    noisy = standing_person()
    rng = np.random.default_rng(1)
    noisy = replace(noisy, positions=noisy.positions + rng.normal(0, 0.001, noisy.positions.shape))
    assert ground_of(noisy).touches.all()


def test_a_jump_has_a_flight() -> None:
    person = standing_person(120, 60.0)
    time = (np.arange(120) - 45) / 60
    height = np.maximum(0.0, 2.4 * time - 4.905 * time**2)
    touches = ground_of(raised(person, height)).touches
    aloft = height > 0.06
    assert not touches[aloft].any()
    assert touches[:44].all()
    assert touches[-40:].all()


@pytest.mark.parametrize("height_m", [-0.9, 0.4, 12.0])
def test_the_height_of_the_floor_in_a_clip_does_not_matter(height_m: float) -> None:
    person = silent(walking_person(180, 60.0))
    lifted = raised(person, np.full(180, height_m))
    np.testing.assert_array_equal(ground_of(lifted).touches, ground_of(person).touches)
    assert ground_of(lifted).ankle == pytest.approx(ground_of(person).ankle + height_m)


def test_a_foot_that_rests_on_a_chair_does_not_stand_on_the_ground() -> None:
    person = standing_person()
    for part in ("ankle", "heel", "toe"):
        person.positions[:, POINTS.index(f"left_{part}"), 2] += 0.45
    touches = ground_of(person).touches
    assert not touches[:, 0].any()
    assert touches[:, 1].all()


def test_one_bad_frame_does_not_break_a_stance() -> None:
    person = standing_person()
    person.positions[60, POINTS.index("left_toe"), 0] += 0.12
    assert ground_of(person).touches.all()


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_clip_of_a_few_frames_stands_where_it_is_low(frames: int) -> None:
    assert ground_of(standing_person(frames)).touches.all()


def test_runs_are_first_and_stop_of_what_is_true() -> None:
    assert runs(np.array([True, True, False, True])) == ((0, 2), (3, 4))
    assert runs(np.zeros(3, bool)) == ()
    assert runs(np.ones(3, bool)) == ((0, 3),)
    assert runs(np.zeros(0, bool)) == ()


def test_a_real_walk_stands_on_one_foot_or_two_and_never_for_a_moment_only(
    shared_data: Path,
) -> None:
    motion = read_motion(shared_data / "mocap" / "cmu_asf_amc_bvh" / "01_01.bvh")
    touches = np.logical_or(*np.moveaxis(ground_of(motion).touches, 2, 0))
    assert touches[:, 0].any()
    assert touches[:, 1].any()
    for foot in range(2):
        for first, stop in runs(touches[:, foot]):
            assert stop - first >= SHORTEST_S * motion.rate_hz


def test_a_real_jump_forward_has_a_flight_between_two_stances(shared_data: Path) -> None:
    folder = shared_data / "retarget" / "asap_smpl_human"
    motion = read_motion(folder / "video_jump_forward_level1_filter_amass.npz")
    touches = ground_of(motion).touches
    stands = np.array([frame.any() for frame in touches])
    flights = [(a, b) for a, b in runs(~stands) if b - a > 0.1 * motion.rate_hz]
    assert flights
    assert any(a > 0 and b < len(stands) for a, b in flights)


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
