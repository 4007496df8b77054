"""Rotations agree with scipy, and every way there has its way back."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from corporeal.geometry import (
    Array,
    matrix_from_quaternion,
    matrix_from_rpy,
    normalise,
    quaternion_from_matrix,
    rotation_angle,
    rpy_from_matrix,
    slerp,
)

angles = arrays(np.float64, 3, elements=st.floats(-10, 10))
numbers = st.floats(-1e3, 1e3)
quaternions = arrays(np.float64, 4, elements=numbers).filter(lambda q: np.linalg.norm(q) > 1e-3)
fractions = st.floats(0, 1)


@settings(deadline=None)
@given(angles)
def test_a_matrix_from_rpy_is_the_one_of_scipy(rpy: Array) -> None:
    expected = Rotation.from_euler("xyz", rpy).as_matrix()
    np.testing.assert_allclose(matrix_from_rpy(rpy), expected, atol=1e-12)


@settings(deadline=None)
@given(angles)
def test_rpy_comes_back_as_the_same_rotation(rpy: Array) -> None:
    matrix = matrix_from_rpy(rpy)
    np.testing.assert_allclose(matrix_from_rpy(rpy_from_matrix(matrix)), matrix, atol=1e-7)


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 3), st.sampled_from([-np.pi / 2, np.pi / 2]))
def test_at_the_pole_yaw_is_zero_and_the_rotation_the_same(
    roll: float, yaw: float, pitch: float
) -> None:
    matrix = matrix_from_rpy((roll, pitch, yaw))
    rpy = rpy_from_matrix(matrix)
    assert rpy[2] == 0
    np.testing.assert_allclose(matrix_from_rpy(rpy), matrix, atol=1e-7)


@settings(deadline=None)
@given(quaternions)
def test_a_matrix_from_a_quaternion_is_the_one_of_scipy(q: Array) -> None:
    expected = Rotation.from_quat(q, scalar_first=True).as_matrix()
    np.testing.assert_allclose(matrix_from_quaternion(q), expected, atol=1e-12)


@settings(deadline=None)
@given(quaternions)
def test_a_quaternion_comes_back_with_w_positive(q: Array) -> None:
    back = quaternion_from_matrix(matrix_from_quaternion(q))
    assert back[0] >= 0
    assert abs(np.dot(back, q) / np.linalg.norm(q)) > 1 - 1e-9


def test_half_turns_are_found_exactly() -> None:
    for axis in np.eye(3):
        matrix = 2 * np.outer(axis, axis) - np.eye(3)
        np.testing.assert_allclose(quaternion_from_matrix(matrix), [0, *axis], atol=1e-15)


def test_whole_arrays_give_what_single_ones_give() -> None:
    rng = np.random.default_rng(0)
    rpy = rng.uniform(-3, 3, (4, 5, 3))
    matrices = matrix_from_rpy(rpy)
    assert matrices.shape == (4, 5, 3, 3)
    quaternion = quaternion_from_matrix(matrices)
    assert quaternion.shape == (4, 5, 4)
    for row, column in np.ndindex(4, 5):
        np.testing.assert_array_equal(matrices[row, column], matrix_from_rpy(rpy[row, column]))
        single = quaternion_from_matrix(matrices[row, column])
        np.testing.assert_allclose(quaternion[row, column], single, atol=1e-15)


@settings(deadline=None)
@given(arrays(np.float64, (3, 4), elements=numbers))
def test_normalised_vectors_have_length_one_and_zero_stays_zero(vectors: Array) -> None:
    vectors[0] = 0
    length = np.linalg.norm(normalise(vectors), axis=1)
    assert length[0] == 0
    assert all(abs(value - 1) < 1e-12 or value == 0 for value in length)


@settings(deadline=None)
@given(quaternions, quaternions, fractions)
def test_slerp_divides_the_angle(a: Array, b: Array, fraction: float) -> None:
    middle = slerp(a, b, fraction)
    assert abs(np.linalg.norm(middle) - 1) < 1e-12
    start, end, turned = (matrix_from_quaternion(q) for q in (a, b, middle))
    whole = rotation_angle(start, end)
    assert abs(rotation_angle(start, turned) - fraction * whole) < 1e-5
    assert abs(rotation_angle(turned, end) - (1 - fraction) * whole) < 1e-5


@settings(deadline=None)
@given(quaternions)
def test_slerp_between_opposite_signs_stays_put(q: Array) -> None:
    assert rotation_angle(matrix_from_quaternion(slerp(q, -q, 0.5)), matrix_from_quaternion(q)) < (
        1e-6
    )


@settings(deadline=None)
@given(quaternions, st.floats(0, np.pi))
def test_the_rotation_angle_is_the_angle_turned(q: Array, angle: float) -> None:
    base = matrix_from_quaternion(q)
    turned = base @ Rotation.from_rotvec([0, 0, angle]).as_matrix()
    # Near a half turn the arcsine is steep.
    assert abs(rotation_angle(base, turned) - angle) < 1e-6
