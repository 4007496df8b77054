"""The low-pass takes away what is quick, delays nothing, and knows that q and -q are one turn."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.geometry import (
    Array,
    continuous_quaternions,
    matrix_from_quaternion,
    quaternion_from_vector,
    rotation_angle,
)
from corporeal.retargeting.solve import filter_low, low_pass
from corporeal.retargeting.solver.chain import MotionState

RATE_HZ = 120.0
TIME = np.arange(600) / RATE_HZ


def _gain(frequency_hz: float, cutoff_hz: float = 5.0) -> float:
    """How much of a wave is left in the middle of a clip."""
    wave = np.sin(2 * np.pi * frequency_hz * TIME)[:, None]
    inner = slice(150, 450)
    out = filter_low(wave, RATE_HZ, cutoff_hz)[inner, 0]
    return float(np.sqrt(np.mean(out**2) / np.mean(wave[inner] ** 2)))


def test_slow_waves_stay_and_quick_ones_go() -> None:
    assert _gain(1.0) == pytest.approx(1.0, abs=1e-3)
    assert _gain(2.5) > 0.98
    assert _gain(15.0) < 1e-3


def test_at_the_cut_off_each_way_takes_three_decibels() -> None:
    assert 20 * np.log10(_gain(5.0)) == pytest.approx(-6.02, abs=0.1)
    assert 20 * np.log10(_gain(8.0, cutoff_hz=8.0)) == pytest.approx(-6.02, abs=0.1)


def test_a_peak_stays_in_its_frame() -> None:
    for middle in (200, 317, 420):
        bump = np.exp(-(((np.arange(600) - middle) / 20) ** 2))[:, None]
        assert int(np.argmax(filter_low(bump, RATE_HZ, 5.0))) == middle


def test_forwards_and_backwards_in_time_are_the_same() -> None:
    noise = np.random.default_rng(1).normal(size=(400, 3))
    ahead, back = filter_low(noise, RATE_HZ, 5.0), filter_low(noise[::-1], RATE_HZ, 5.0)[::-1]
    np.testing.assert_allclose(ahead[100:300], back[100:300], atol=1e-6)


def _state(frames: int, rotation: Array) -> MotionState:
    rng = np.random.default_rng(2)
    place = np.cumsum(rng.normal(0, 0.001, (frames, 3)), axis=0)
    base = np.concatenate(
        [place, quaternion_from_vector(rotation[:, None] * [0.0, 0.0, 1.0])], axis=1
    )
    return MotionState(base, 0.3 * np.sin(np.arange(frames) / 20)[:, None] * np.ones(5))


def test_a_straight_way_and_a_steady_rotation_are_not_changed() -> None:
    rotation = np.linspace(0, 9, 300)
    state = _state(300, rotation)
    state.base[:, :3] = np.linspace(0, 4, 300)[:, None] * [1.0, 0.5, 0.0]
    out = low_pass(state, RATE_HZ, 5.0)
    np.testing.assert_allclose(out.base[:, :3], state.base[:, :3], atol=2e-3)
    apart = rotation_angle(
        matrix_from_quaternion(out.base[:, 3:]), matrix_from_quaternion(state.base[:, 3:])
    )
    assert apart[20:-20].max() < 0.01
    np.testing.assert_allclose(np.linalg.norm(out.base[:, 3:], axis=1), 1)


def test_signs_of_quaternions_do_not_matter() -> None:
    state = _state(300, np.linspace(0, 9, 300))
    flips = np.where(np.random.default_rng(3).random(300) < 0.5, -1.0, 1.0)[:, None]
    flipped = MotionState(
        np.concatenate([state.base[:, :3], state.base[:, 3:] * flips], axis=1), state.q
    )
    one, other = (low_pass(each, RATE_HZ, 5.0).base[:, 3:] for each in (state, flipped))
    np.testing.assert_allclose(np.abs(np.einsum("ti,ti->t", one, other)), 1, atol=1e-12)
    steps = continuous_quaternions(flipped.base[:, 3:])
    assert (np.einsum("ti,ti->t", steps[1:], steps[:-1]) > 0).all()


@pytest.mark.parametrize("frames", [1, 2, 3, 7, 20])
def test_a_clip_that_is_shorter_than_the_filter_stays_as_it_is(frames: int) -> None:
    state = _state(frames, np.linspace(0, 0.2, frames))
    assert low_pass(state, RATE_HZ, 5.0) is state


@pytest.mark.parametrize("frames", [36, 50, 80, 200])
def test_the_ends_of_a_short_clip_are_not_bent(frames: int) -> None:
    slow = 0.3 * np.sin(2 * np.pi * TIME[:frames])[:, None]
    assert np.abs(filter_low(slow, RATE_HZ, 5.0) - slow).max() < 0.004


def test_a_clip_that_is_sampled_too_slowly_stays_as_it_is() -> None:
    state = _state(100, np.linspace(0, 1, 100))
    assert low_pass(state, 10.0, 5.0) is state
    assert low_pass(state, 15.0, 5.0) is not state
