"""Turning, acceleration and axes are told from samples."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.geometry import continuous_quaternions, matrix_from_rpy, rotation_vectors
from corporeal.quality.evidence.rigid_motion import (
    SIGNED_PERMUTATIONS,
    describe_axes,
    fit_axes,
    mean_accelerations,
    mean_rates,
    steps_rad,
    triangle_values,
)

TIME_S = np.arange(0, 8, 0.01)


def sway() -> np.ndarray:
    return np.stack(
        [np.sin(2 * TIME_S), np.sin(1.3 * TIME_S + 1), 0.7 * np.sin(0.9 * TIME_S + 2)], axis=1
    )


@pytest.mark.parametrize("number", range(0, len(SIGNED_PERMUTATIONS), 5))
def test_any_exchange_of_axes_is_found_under_noise_and_bias(number: int) -> None:
    axes = SIGNED_PERMUTATIONS[number]
    noise = np.random.default_rng(number).normal(0, 0.1, (len(TIME_S), 3))
    fit = fit_axes(sway() @ axes.T * 3 + noise + [1, 2, 3], sway())
    assert fit is not None
    np.testing.assert_array_equal(fit.axes, axes)
    assert fit.is_turned == bool((axes != np.eye(3)).any())
    assert fit.scale == pytest.approx(3, rel=0.05)


def test_noise_alone_is_not_taken_for_exchanged_axes() -> None:
    dice = np.random.default_rng(0)
    for _ in range(20):
        fit = fit_axes(dice.normal(size=(100, 3)), dice.normal(size=(100, 3)))
        assert fit is not None
        assert not fit.is_turned


def test_a_still_axis_that_feels_a_little_of_another_is_not_exchanged() -> None:
    said = sway() * [1, 1, 0]
    seen = said.copy()
    seen[:, 2] = 0.03 * said[:, 0]
    fit = fit_axes(seen, said)
    assert fit is not None
    assert not fit.is_turned


def test_few_samples_prove_nothing() -> None:
    assert fit_axes(sway()[:10], sway()[:10]) is None


def test_axes_are_described_in_words() -> None:
    axes = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    assert describe_axes(axes, ("ax", "ay", "az")) == "ax holds +y, ay holds -x, az holds +z"


def test_rates_of_a_steady_turn_are_exact() -> None:
    turns = matrix_from_rpy(np.stack([0 * TIME_S, 0 * TIME_S, 0.8 * TIME_S], axis=1))
    rates = mean_rates(TIME_S, turns, np.array([2.0, 5.0]), 0.25)
    np.testing.assert_allclose(rates, [[0, 0, 0.8]] * 2, atol=1e-9)


def test_mean_acceleration_and_triangle_mean_agree() -> None:
    when = np.array([1.5, 4.0])
    place, push = sway(), -sway() * np.array([4, 1.69, 0.81])
    np.testing.assert_allclose(
        mean_accelerations(TIME_S, place, when, 0.4),
        triangle_values(TIME_S, push, when, 0.4),
        atol=2e-3,
    )


def test_rotation_vectors_keep_axis_and_angle() -> None:
    np.testing.assert_allclose(rotation_vectors(matrix_from_rpy([0.0, 1.2, 0.0])), [0, 1.2, 0])
    np.testing.assert_allclose(rotation_vectors(np.eye(3)), np.zeros(3))


def test_signs_are_made_continuous_and_steps_ignore_them() -> None:
    q = np.tile([1.0, 0, 0, 0], (5, 1))
    q[2:4] *= -1
    np.testing.assert_array_equal(continuous_quaternions(q), np.tile([1.0, 0, 0, 0], (5, 1)))
    np.testing.assert_allclose(steps_rad(q), np.zeros(4))
