"""Feet that stand keep one place, feet that are put down anew get another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.retargeting.people import walking_person

from corporeal.embodiment import open_robot
from corporeal.geometry import Array, matrix_from_rpy
from corporeal.retargeting.goal.footholds import Footholds, footholds_of, level_floor
from corporeal.retargeting.goal.goals import goals_of
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.result import Goals
from corporeal.signal.runs import runs

G1 = robot_map(open_robot("g1"))
RATE_HZ = 60.0


def _standing(frames: int, left: Array, yaw: Array | None = None) -> Goals:
    """Goals of two flat feet, the left one at places (T, 2) with headings."""
    headings = np.zeros(frames) if yaw is None else yaw
    rotations = matrix_from_rpy(np.stack([headings * 0, headings * 0, headings], axis=1))
    still = np.tile(np.eye(3), (frames, 1, 1))
    positions = {
        "left_foot": np.concatenate([left, np.zeros((frames, 1))], axis=1),
        "right_foot": np.tile([0.0, -0.1, 0.0], (frames, 1)),
    }
    contacts = np.ones((frames, 2, 2), bool)
    known = np.ones((frames, 4))
    return Goals(positions, {"left_foot": rotations, "right_foot": still}, contacts, known, {})


def _places(feet: Footholds, foot: int) -> list[Array]:
    """Where the heel is in every stance."""
    stands = feet.stands[:, foot, 0] | feet.stands[:, foot, 1]
    return [feet.heel[first:stop, foot] for first, stop in runs(stands)]


def test_a_placed_foot_does_not_move_within_a_stance() -> None:
    person = walking_person(240, RATE_HZ)
    feet = footholds_of(goals_of(person, G1), G1.soles, RATE_HZ)
    for foot in range(2):
        places = _places(feet, foot)
        assert len(places) >= 4
        for place in places:
            np.testing.assert_allclose(place, place[:1].repeat(len(place), axis=0), atol=1e-12)
        assert (np.diff([place[0, 0] for place in places]) > 0.3).all()
    np.testing.assert_array_equal(feet.heel[..., 2], 0)
    np.testing.assert_array_equal(feet.toe[..., 2], 0)


def test_heel_and_toe_are_a_sole_apart_where_they_are_held() -> None:
    feet = footholds_of(goals_of(walking_person(240, RATE_HZ), G1), G1.soles, RATE_HZ)
    held = feet.stands.any(axis=2)
    apart = np.linalg.norm(feet.toe - feet.heel, axis=2)[held]
    np.testing.assert_allclose(apart, G1.soles.length, atol=1e-9)


def test_noise_of_a_standing_foot_is_taken_away() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.01, (180, 2))
    feet = footholds_of(_standing(180, np.array([0.3, 0.1]) + noise), G1.soles, RATE_HZ)
    (place,) = _places(feet, 0)
    centre = (feet.heel + feet.toe)[0, 0, :2] / 2
    assert np.ptp(place, axis=0).max() == 0
    offset = (G1.soles.heel + G1.soles.toe)[0] / 2 - G1.soles.centre[0]
    np.testing.assert_allclose(centre - offset[:2], [0.3, 0.1], atol=0.004)


def _slid(way_m: float, frames: int) -> Array:
    """A foot that slides ahead over some frames in the middle of three seconds."""
    share = np.clip((np.arange(180) - 90) / frames + 0.5, 0, 1)
    return np.stack([way_m * share, np.full(180, 0.1)], axis=1)


@pytest.mark.parametrize("frames", [3, 12, 24, 48])
@pytest.mark.parametrize("way_m", [0.12, 0.2, 0.4])
def test_a_foot_that_shuffles_gets_two_places_and_is_free_between(
    way_m: float, frames: int
) -> None:
    feet = footholds_of(_standing(180, _slid(way_m, frames)), G1.soles, RATE_HZ)
    first, second = _places(feet, 0)
    assert second[0, 0] - first[0, 0] == pytest.approx(way_m, abs=0.01)
    assert not feet.stands[90, 0].any()
    assert feet.centre[90, 0, 2] > 0.01
    assert feet.stands[:, 1].all()
    assert len(_places(feet, 1)) == 1


def test_a_foot_that_slips_a_little_stays_where_it_is() -> None:
    feet = footholds_of(_standing(180, _slid(0.04, 12)), G1.soles, RATE_HZ)
    assert len(_places(feet, 0)) == 1
    assert feet.stands.all()


def test_a_foot_that_turns_on_the_spot_gets_two_headings() -> None:
    share = np.clip((np.arange(180) - 84) / 12, 0, 1)
    goals = _standing(180, np.tile([0.0, 0.1], (180, 1)), 1.2 * share)
    feet = footholds_of(goals, G1.soles, RATE_HZ)
    ahead = (feet.toe - feet.heel)[:, 0]
    assert len(_places(feet, 0)) == 2
    rotation = np.arctan2(ahead[[20, 160], 1], ahead[[20, 160], 0])
    np.testing.assert_allclose(rotation, [0.0, 1.2], atol=0.02)


def test_headings_that_pass_half_a_turn_do_not_spin_a_foot() -> None:
    yaw = np.where(np.arange(120) % 2, np.pi - 0.02, -np.pi + 0.02)
    feet = footholds_of(_standing(120, np.tile([0.0, 0.1], (120, 1)), yaw), G1.soles, RATE_HZ)
    ahead = (feet.toe - feet.heel)[:, 0]
    np.testing.assert_allclose(ahead[:, 0], -G1.soles.length, atol=1e-3)


def test_swings_begin_and_end_where_the_foot_stands() -> None:
    feet = footholds_of(goals_of(walking_person(240, RATE_HZ), G1), G1.soles, RATE_HZ)
    steps = np.linalg.norm(np.diff(feet.centre, axis=0), axis=2)
    assert steps.max() < 3.5 / RATE_HZ
    flat = feet.stands.all(axis=2)
    middle = (feet.heel + feet.toe) / 2
    offset = np.linalg.norm((G1.soles.heel + G1.soles.toe)[0] / 2 - G1.soles.centre[0])
    apart = np.linalg.norm((feet.centre - middle)[flat], axis=1)
    assert np.abs(apart - offset).max() < 0.01


def test_a_foot_that_never_stands_is_left_as_it_is() -> None:
    goals = goals_of(walking_person(60, RATE_HZ), G1)
    aloft = replace(goals, contacts=np.zeros((60, 2, 2), bool))
    feet = footholds_of(aloft, G1.soles, RATE_HZ)
    assert not feet.stands.any()
    np.testing.assert_allclose(feet.centre[:, 0], goals.positions["left_foot"], atol=1e-12)
    np.testing.assert_allclose(feet.rotation[:, 0], goals.rotations["left_foot"], atol=1e-12)
    same, lift = level_floor(aloft, G1.soles, RATE_HZ)
    assert not lift.any()
    np.testing.assert_array_equal(same.positions["pelvis"], goals.positions["pelvis"])


def _deepest(goals: Goals, flat: NDArray[np.bool_]) -> float:
    return float(
        max(
            np.abs(goals.positions[f"{side}_foot"][flat[:, foot], 2]).max()
            for foot, side in enumerate(("left", "right"))
        )
    )


def test_a_floor_that_slopes_is_made_level_and_the_person_goes_with_it() -> None:
    goals = goals_of(walking_person(360, RATE_HZ), G1)
    slope = 0.04 * goals.positions["pelvis"][:, :1] * [0.0, 0.0, 1.0]
    bent = replace(goals, positions={name: at + slope for name, at in goals.positions.items()})
    flat = goals.contacts[..., 0] & goals.contacts[..., 1]
    level, lift = level_floor(bent, G1.soles, RATE_HZ)
    assert _deepest(bent, flat) > 0.05
    assert _deepest(level, flat) < 0.012
    np.testing.assert_allclose(
        level.positions["left_hand"][:, 2] - bent.positions["left_hand"][:, 2], lift
    )


def test_a_floor_that_is_level_stays_so() -> None:
    _, lift = level_floor(goals_of(walking_person(240, RATE_HZ), G1), G1.soles, RATE_HZ)
    assert np.abs(lift).max() < 0.004


@pytest.mark.parametrize("frames", [1, 2, 5])
def test_a_clip_of_a_few_frames_has_footholds(frames: int) -> None:
    feet = footholds_of(_standing(frames, np.tile([0.0, 0.1], (frames, 1))), G1.soles, RATE_HZ)
    assert feet.stands.all()
    assert np.isfinite(feet.centre).all()
