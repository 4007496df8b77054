"""A body in any unit and on any axes comes out in metres and z up, or is refused in a sentence."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from tests.retargeting.people import walking_person

from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS, MotionError
from corporeal.retargeting.person.standard_axes import (
    AXES,
    METRES,
    rotation_to_z,
    standardise,
    stature,
)

SOURCE = Path("clip.bvh")
WALK = walking_person(300, 120.0).positions


def axis_rotations() -> list[Array]:
    """The 24 rotations that take axes to axes."""
    found = []
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        matrix = np.eye(3)[list(order)] * np.array(signs)[:, None]
        if np.linalg.det(matrix) > 0:
            found.append(matrix)
    return found


@pytest.mark.parametrize(
    "rotation", axis_rotations(), ids=lambda rotation: str(rotation.astype(int).tolist())
)
def test_every_permutation_of_the_axes_is_put_upright(rotation: Array) -> None:
    result = standardise(WALK @ rotation.T, unit=None, up=None, source=SOURCE)
    heights = result.positions[..., 2]
    np.testing.assert_allclose(heights, WALK[..., 2], atol=1e-12)
    assert np.linalg.det(result.rotation) == pytest.approx(1.0)
    np.testing.assert_allclose(
        (WALK @ rotation.T) @ result.rotation.T * result.scale, result.positions
    )


@pytest.mark.parametrize("unit", METRES)
@pytest.mark.parametrize("stature_m", [1.4, 1.75, 2.1])
def test_the_unit_is_found_from_the_body(unit: str, stature_m: float) -> None:
    person = walking_person(60, stature_m=stature_m).positions
    result = standardise(person / METRES[unit], unit=None, up=None, source=SOURCE)
    assert result.scale == METRES[unit]
    np.testing.assert_allclose(result.positions, person, atol=1e-9)
    assert any("tall" in note for note in result.notes)


def test_noise_and_missing_points_do_not_hide_unit_and_axes() -> None:
    rng = np.random.default_rng(3)
    noisy = WALK + rng.normal(0, 0.04, WALK.shape)
    noisy[rng.random(WALK.shape[:2]) < 0.4] = np.nan
    noisy[:, POINTS.index("pelvis")] = np.nan
    result = standardise(noisy[..., [1, 2, 0]] * 100, unit=None, up=None, source=SOURCE)
    assert result.scale == 0.01
    np.testing.assert_array_equal(result.rotation, rotation_to_z("y"))
    assert np.isnan(result.positions).sum() == np.isnan(noisy).sum()


@pytest.mark.parametrize("axis", AXES)
def test_the_rotation_to_z_is_proper_and_takes_the_axis_there(axis: str) -> None:
    vector = np.zeros(3)
    vector["xyz".index(axis[-1])] = -1.0 if axis[0] == "-" else 1.0
    np.testing.assert_array_equal(rotation_to_z(axis) @ vector, [0, 0, 1])
    assert np.linalg.det(rotation_to_z(axis)) == pytest.approx(1.0)


def test_what_is_given_is_believed() -> None:
    lying = WALK[..., [2, 0, 1]]
    result = standardise(lying * 60, unit="cm", up="z", source=SOURCE)
    assert result.scale == 0.01
    np.testing.assert_array_equal(result.rotation, np.eye(3))


def test_a_given_unit_that_makes_a_giant_is_refused() -> None:
    with pytest.raises(MotionError, match=r"with unit m the person is 175 m tall.*--unit"):
        standardise(WALK * 100, unit="m", up=None, source=SOURCE)


def test_a_body_that_fits_no_unit_asks_for_one() -> None:
    with pytest.raises(MotionError, match=r"fits no unit of length.*Give --unit"):
        standardise(WALK * 7, unit=None, up=None, source=SOURCE)


def test_points_all_in_one_spot_are_no_body() -> None:
    with pytest.raises(MotionError, match="fits no unit"):
        standardise(np.zeros_like(WALK), unit=None, up=None, source=SOURCE)


def test_a_clip_without_any_point_says_so() -> None:
    with pytest.raises(MotionError, match="no point is known"):
        standardise(np.full_like(WALK, np.nan), unit=None, up=None, source=SOURCE)


def test_unknown_units_and_axes_list_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="mm"):
        standardise(WALK, unit="furlong", up=None, source=SOURCE)
    with pytest.raises(UnknownNameError, match="-y"):
        standardise(WALK, unit=None, up="w", source=SOURCE)


@pytest.mark.parametrize("axis", range(3))
def test_a_mirrored_body_is_refused(axis: int) -> None:
    mirrored = WALK.copy()
    mirrored[..., axis] *= -1
    with pytest.raises(MotionError, match=r"left and right are mirrored.*Negate one"):
        standardise(mirrored, unit=None, up=None, source=SOURCE)


def test_a_mirrored_body_without_toes_is_known_by_its_knees() -> None:
    mirrored = WALK * [1, -1, 1]
    mirrored[:, [POINTS.index("left_toe"), POINTS.index("right_toe")]] = np.nan
    with pytest.raises(MotionError, match=r"mirrored \(knees"):
        standardise(mirrored, unit=None, up=None, source=SOURCE)


def test_arms_whose_sides_are_swapped_are_refused() -> None:
    swapped = WALK.copy()
    parts = ("shoulder", "elbow", "wrist", "hand")
    left = [POINTS.index(f"left_{part}") for part in parts]
    right = [POINTS.index(f"right_{part}") for part in parts]
    swapped[:, left + right] = WALK[:, right + left]
    with pytest.raises(MotionError, match="Swap the names"):
        standardise(swapped, unit=None, up=None, source=SOURCE)


def test_somebody_who_lies_slantwise_gets_an_axis_by_convention_and_a_note() -> None:
    angle = np.radians(50)
    slant = np.array(
        [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
    )
    still = np.repeat(WALK[:1], 50, axis=0) @ slant.T
    result = standardise(still, unit=None, up=None, source=SOURCE)
    assert any("give --up" in note for note in result.notes)


def test_a_single_frame_is_enough() -> None:
    result = standardise(WALK[:1, :, [1, 2, 0]] * 1000, unit=None, up=None, source=SOURCE)
    assert result.scale == 0.001
    assert stature(result.positions) == pytest.approx(1.75, abs=0.03)
