"""Pieces of long clips cover everything, and fade into each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corporeal.geometry import matrix_from_quaternion, normalise, rotation_angle
from corporeal.retargeting.solver.chain import MotionState
from corporeal.retargeting.solver.clip_solver import LENGTH, ClipWindow, join_windows, windows


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40_000), st.integers(40, 3000), st.integers(1, 19))
def test_windows_cover_all_frames_and_each_shares_some_with_the_next(
    frames: int, length: int, shared: int
) -> None:
    cut = windows(frames, length=length, shared=shared)
    assert cut[0].first == 0
    assert cut[-1].stop == frames
    for one, other in pairwise(cut):
        assert one.stop - other.first == shared
        assert one.first < other.first
    for before, after in zip(cut, cut[2:], strict=False):
        assert before.stop <= after.first + shared
    assert max(each.stop - each.first for each in cut) <= length + 1


def test_a_clip_that_fits_is_one_piece() -> None:
    assert windows(LENGTH) == [ClipWindow(0, LENGTH)]
    assert len(windows(LENGTH + 1)) == 2
    assert windows(1) == [ClipWindow(0, 1)]


def _state(frames: int) -> MotionState:
    rng = np.random.default_rng(1)
    base = np.cumsum(rng.normal(0, 0.01, (frames, 7)), axis=0)
    base[:, 3:] = normalise(base[:, 3:] + [1.0, 0.0, 0.0, 0.0])
    return MotionState(base, np.cumsum(rng.normal(0, 0.01, (frames, 4)), axis=0))


def _cut(state: MotionState) -> list[tuple[ClipWindow, MotionState]]:
    cut = windows(len(state), length=100, shared=20)
    return [(each, state.part(slice(each.first, each.stop))) for each in cut]


def test_equal_pieces_join_to_what_they_were_cut_from() -> None:
    state = _state(351)
    whole = join_windows(_cut(state), len(state))
    np.testing.assert_allclose(whole.q, state.q, atol=1e-12)
    np.testing.assert_allclose(whole.base, state.base, atol=1e-12)


def test_a_piece_with_the_other_sign_of_a_quaternion_is_the_same_rotation() -> None:
    state = _state(351)
    parts = _cut(state)
    for number in (1, 2):
        window, piece = parts[number]
        parts[number] = window, MotionState(piece.base * [1, 1, 1, -1, -1, -1, -1], piece.q)
    rotations = [
        matrix_from_quaternion(s.base[:, 3:]) for s in (state, join_windows(parts, len(state)))
    ]
    assert rotation_angle(*rotations).max() < 1e-6


def test_pieces_that_differ_fade_without_a_step() -> None:
    frames = 351
    state = MotionState(np.tile([0, 0, 0, 1.0, 0, 0, 0], (frames, 1)), np.zeros((frames, 1)))
    parts = [
        (window, MotionState(piece.base, piece.q + number)) for number, (window, piece) in
        enumerate(_cut(state))
    ]  # fmt: skip
    q = join_windows(parts, frames).q[:, 0]
    assert (np.diff(q) >= -1e-12).all()
    assert np.diff(q).max() < 2 / 20
    assert q[0] == 0
    assert q[-1] == len(parts) - 1
