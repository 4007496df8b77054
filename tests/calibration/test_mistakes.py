"""Every planted mistake of a hand-eye calibration is named in words; good data has none."""

from __future__ import annotations

import numpy as np
from tests.calibration.test_hand_eye import views_beside, views_from_above

from corporeal.calibration.hand_eye import (
    Mount,
    PosePairs,
    find_mistakes,
    inverse,
    pose_matrix,
    solve_hand_eye,
)
from corporeal.geometry import Array, matrix_from_quaternion, quaternion_from_matrix

GOOD = views_from_above(np.random.default_rng(11), 18)


def said(hands: Array, boards: Array, mount: Mount = "eye_in_hand") -> str:
    """What is found of these pairs."""
    pairs = PosePairs(GOOD.names, hands, boards)
    return " ".join(find_mistakes(pairs, solve_hand_eye(pairs, mount)))


def test_good_pairs_have_no_mistakes() -> None:
    for seed in range(4):
        pairs = views_from_above(np.random.default_rng(seed), 16)
        assert find_mistakes(pairs, solve_hand_eye(pairs)) == []


def test_the_other_mount_is_named() -> None:
    assert "--mount in-hand" in said(GOOD.effectors, GOOD.boards, "eye_to_hand")


def test_millimetres_are_named() -> None:
    boards = GOOD.boards.copy()
    boards[:, :3, 3] *= 1000
    assert "positions of boards" in said(GOOD.effectors, boards)
    assert "millimetres" in said(GOOD.effectors, boards)


def test_pairs_that_do_not_belong_together_are_named() -> None:
    boards = GOOD.boards.copy()
    boards[[2, 7, 11]] = boards[[7, 11, 2]]
    words = said(GOOD.effectors, boards)
    assert "3 of 18 pairs do not belong together (2, 7, 11)" in words


def test_a_board_of_another_size_is_named() -> None:
    boards = GOOD.boards.copy()
    boards[:, :3, 3] *= 0.9
    assert "times as large as was said" in said(GOOD.effectors, boards)


def test_a_board_that_was_moved_in_between_is_named() -> None:
    boards = GOOD.boards.copy()
    boards[9:] = boards[9:] @ pose_matrix([0, 0, 0.0], [0.02, 0.0, 0])
    assert "the board was moved before pair 9" in said(GOOD.effectors, boards)


def test_turns_about_one_axis_are_named() -> None:
    hands = np.array([pose_matrix([0, 0, 0.1 * step], [0.1, 0.02 * step, 0.3])
                      for step in range(18)])  # fmt: skip
    camera = pose_matrix([0.3, 0.1, 0], [0, 0, 0.1])
    board = pose_matrix([3.0, 0, 0], [0.3, 0, 0])
    boards = np.linalg.inv(hands @ camera) @ board
    assert "expected 30 or more about both" in said(hands, boards)


def test_mirrored_poses_are_named() -> None:
    boards = GOOD.boards.copy()
    boards[:, :3, 3] *= -1
    assert "mirrored" in said(GOOD.effectors, boards)


def test_quaternions_in_another_order_are_named() -> None:
    turned = GOOD.boards.copy()
    quaternions = quaternion_from_matrix(turned[:, :3, :3])
    turned[:, :3, :3] = matrix_from_quaternion(np.roll(quaternions, -1, axis=1))
    assert "the quaternions of boards have another order" in said(GOOD.effectors, turned)


def test_poses_the_wrong_way_round_are_named() -> None:
    assert "--inverted" in said(GOOD.effectors, inverse(GOOD.boards))


def test_a_board_that_slipped_in_the_hand_is_named() -> None:
    pairs = views_beside(np.random.default_rng(2), 18)
    boards = pairs.boards.copy()
    boards[10:] = boards[10:] @ pose_matrix([0, 0, 0.0], [0.0, 0.02, 0])
    moved = PosePairs(pairs.names, pairs.effectors, boards)
    assert "the board was moved before pair 10" in " ".join(
        find_mistakes(moved, solve_hand_eye(moved, "eye_to_hand"))
    )
