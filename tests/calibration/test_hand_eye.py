"""Hand and eye: the camera on the robot, its stated spread, pairs that do not belong together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corporeal.calibration.board import open_board
from corporeal.calibration.hand_eye import (
    METHODS,
    Mount,
    PosePairs,
    TimedPoses,
    hands_of_joints,
    inverse,
    leave_out,
    next_hand_poses,
    pairs_of_tracks,
    pose_matrix,
    rotation_mismatch,
    solve_hand_eye,
    turning_axes,
)
from corporeal.calibration.lens import Lens
from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector, rotation_angle, rotation_vectors

REAL = Path("../shared/data/calib")
CAMERA = pose_matrix([0.3, -0.2, 1.4], [0.05, 0.02, 0.08])
BOARD = pose_matrix([0.1, 0.2, 3.0], [0.5, 0.0, 0.1])


def views_from_above(rng: np.random.Generator, count: int = 15) -> PosePairs:
    """Pairs of a robot that is wrong by half a millimetre and a tenth of a degree."""
    hands, boards = [], []
    for _ in range(count):
        ahead = np.array([rng.uniform(-0.5, 0.5), rng.uniform(-0.5, 0.5), 1.0])
        ahead /= np.linalg.norm(ahead)
        right = np.cross([0, 1, 0], ahead)
        right /= np.linalg.norm(right)
        rotation = np.stack([right, np.cross(ahead, right), ahead], axis=1)
        rotation = rotation @ matrix_from_vector(np.array([[0, 0, rng.uniform(-1, 1)]]))[0]
        camera_in_board = np.eye(4)
        camera_in_board[:3, :3] = rotation
        camera_in_board[:3, 3] = -ahead * rng.uniform(0.3, 0.5) + rng.normal(0, 0.03, 3)
        error = pose_matrix(rng.normal(0, np.radians(0.1), 3), rng.normal(0, 0.0005, 3))
        hands.append(BOARD @ camera_in_board @ inverse(CAMERA) @ error)
        seen = pose_matrix(rng.normal(0, 3e-4, 3), rng.normal(0, 1e-4, 3))
        boards.append(seen @ inverse(camera_in_board))
    names = tuple(str(number) for number in range(count))
    return PosePairs(names, np.array(hands), np.array(boards))


def error_of(camera: Array) -> Array:
    """Turn and shift (6,) between a camera and the true one."""
    off = inverse(CAMERA) @ camera
    return np.concatenate([rotation_vectors(off[None, :3, :3])[0], off[:3, 3]])


def test_the_camera_comes_back_within_its_own_spread() -> None:
    errors = []
    for seed in range(25):
        solution = solve_hand_eye(views_from_above(np.random.default_rng(seed)))
        spread = np.concatenate([solution.sigma_rad, solution.sigma_m])
        errors.append(error_of(solution.camera) / spread)
        assert np.linalg.norm(error_of(solution.camera)[3:]) < 0.002
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1.0, abs=0.25)


def test_the_order_of_pairs_changes_nothing() -> None:
    pairs = views_from_above(np.random.default_rng(3))
    shuffled = np.random.default_rng(4).permutation(len(pairs))
    first, second = solve_hand_eye(pairs), solve_hand_eye(pairs.part(shuffled))
    assert (first.camera == second.camera).all()
    assert (first.residual_m[shuffled] == second.residual_m).all()


def views_beside(rng: np.random.Generator, count: int = 15) -> PosePairs:
    """Pairs of the same robot with the board on its hand and the camera beside it."""
    errors = [pose_matrix(rng.normal(0, np.radians(0.1), 3), rng.normal(0, 0.0005, 3))
              for _ in range(count)]  # fmt: skip
    held, mounted = pose_matrix([0.2, 0.1, 0.4], [0.02, -0.03, 0.12]), CAMERA
    hands, boards = [], []
    for error in errors:
        board = pose_matrix(rng.normal([3.0, 0, 0], [0.4, 0.4, 0.6]), rng.normal([0, 0, 0.6], 0.12))
        seen = pose_matrix(rng.normal(0, 3e-4, 3), rng.normal(0, 1e-4, 3))
        hands.append(mounted @ board @ inverse(held) @ error)
        boards.append(seen @ board)
    return PosePairs(tuple(map(str, range(count))), np.array(hands), np.array(boards))


def test_a_camera_beside_the_robot_comes_back_within_its_own_spread() -> None:
    scaled = []
    for seed in range(25):
        solution = solve_hand_eye(views_beside(np.random.default_rng(seed)), "eye_to_hand")
        spread = np.concatenate([solution.sigma_rad, solution.sigma_m])
        scaled.append(error_of(solution.camera) / spread)
        assert solution.robot_m == pytest.approx(0.0005, rel=0.6)
    assert np.sqrt(np.mean(np.square(scaled))) == pytest.approx(1.0, abs=0.25)


def test_wrong_pairs_are_seen_without_a_solution_and_pull_little() -> None:
    pairs = views_from_above(np.random.default_rng(6), 20)
    boards = pairs.boards.copy()
    boards[[2, 7, 11, 15]] = boards[[7, 11, 15, 2]]
    mixed = PosePairs(pairs.names, pairs.effectors, boards)
    mismatch = rotation_mismatch(mixed)
    right = np.delete(mismatch, [2, 7, 11, 15])
    assert mismatch[[2, 7, 11, 15]].min() > 5 * right.max()
    solution = solve_hand_eye(mixed)
    assert np.linalg.norm(error_of(solution.camera)[3:]) < 0.002
    assert solution.weights[[2, 7, 11, 15]].max() < 0.05


def test_a_board_that_was_measured_wrongly_shows_in_the_scale() -> None:
    pairs = views_from_above(np.random.default_rng(7))
    boards = pairs.boards.copy()
    boards[:, :3, 3] *= 0.9
    solution = solve_hand_eye(PosePairs(pairs.names, pairs.effectors, boards))
    assert solution.scale == pytest.approx(1 / 0.9, rel=0.02)
    assert abs(solve_hand_eye(pairs).scale - 1) < 0.02


def test_poses_that_turn_about_one_axis_only_are_told() -> None:
    hands = np.array([pose_matrix([0, 0, 0.2 * step], [0.1 * step, 0, 0]) for step in range(8)])
    pairs = PosePairs(tuple("abcdefgh"), hands, hands)
    longest, across = turning_axes(pairs)
    assert longest == pytest.approx(1.4)
    assert across < 1e-6
    with pytest.raises(CorporealError, match="3 pairs of poses; expected 5 or more"):
        solve_hand_eye(pairs.part(np.arange(3)))


def real_pairs() -> dict[str, tuple[PosePairs, Mount]]:
    """Two sets that nobody here made."""
    if not REAL.is_dir():
        pytest.skip("../shared/data/calib is not here")
    hands, boards = [], []
    files = sorted((REAL / "handeye_franka_charuco").glob("pose_*.json"))
    for path in files:
        said = json.loads(path.read_text())
        hands.append(np.array(said["O_T_EE"]).reshape(4, 4))
        boards.append(pose_matrix(np.ravel(said["T_cam_target_rvec"]),
                                  np.ravel(said["T_cam_target_tvec"])))  # fmt: skip
    names = tuple(path.stem for path in files)
    franka = PosePairs(names, np.array(hands), np.array(boards))
    path = next((REAL / "handeye_poses_moveit").rglob("pose_samples.json"))
    pairs = np.array(json.loads(path.read_text()))
    moveit = PosePairs(tuple(map(str, range(len(pairs)))), pairs[:, 0], pairs[:, 1])
    return {"franka": (franka, "eye_in_hand"), "moveit": (moveit, "eye_to_hand")}


def test_poses_that_are_asked_for_tell_more_than_any_others() -> None:
    lens = Lens("pinhole", 640, 480, np.array([520.0, 523, 322, 238, 0, 0, 0, 0, 0]))
    asked = next_hand_poses(CAMERA, BOARD, lens, open_board("charuco_a4"), count=15)
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        hands = np.array([each.effector for each in asked])
        for hand in hands:
            hand[:] = hand @ pose_matrix(rng.normal(0, np.radians(0.1), 3),
                                         rng.normal(0, 0.0005, 3))  # fmt: skip
        noise = [pose_matrix(rng.normal(0, 2e-4, 3), rng.normal(0, 1e-4, 3)) for _ in asked]
        boards = np.array([step @ each.board for step, each in zip(noise, asked, strict=True)])
        pairs = PosePairs(tuple(map(str, range(15))), hands, boards)
        errors.append(error_of(solve_hand_eye(pairs).camera))
    turn, place = np.array(errors)[:, :3], np.array(errors)[:, 3:]
    assert np.sqrt((place**2).sum(axis=1).mean()) < 0.0004
    assert np.degrees(np.sqrt((turn**2).sum(axis=1).mean())) < 0.06


def test_offsets_of_joints_are_found_with_the_camera() -> None:
    robot = open_robot("g1")
    arm = [name for name in robot.joint_names if name.startswith("right_") and
           any(part in name for part in ("shoulder", "elbow", "wrist"))]  # fmt: skip
    rng = np.random.default_rng(6)
    joints = rng.uniform(-0.7, 0.7, (30, len(arm)))
    hands, free = hands_of_joints(robot, "right_wrist_yaw_link", arm, joints)
    assert set(free.names) < set(arm)
    assert len(free.names) == len(arm) - 2
    wrong = rng.normal(0, np.radians(0.6), len(free.names))
    true = free.pose(wrong)
    boards = np.linalg.inv(true @ CAMERA) @ BOARD
    for board in boards:
        board[:] = pose_matrix(rng.normal(0, 3e-4, 3), rng.normal(0, 1e-4, 3)) @ board
    names = tuple(map(str, range(30)))
    with_offsets = solve_hand_eye(PosePairs(names, hands, boards, adjustable=free))
    without = solve_hand_eye(PosePairs(names, hands, boards))
    assert with_offsets.offsets == pytest.approx(wrong, abs=np.radians(0.1))
    assert with_offsets.robot_m < without.robot_m / 4


def test_two_clocks_are_brought_together() -> None:
    """A hand that swings, and a board seen by a camera whose clock is 0.337 s behind."""
    time_s = np.arange(0, 20, 0.01)
    turns = np.stack([0.6 * np.sin(0.9 * time_s), 0.5 * np.sin(1.7 * time_s + 1),
                      0.7 * np.sin(0.6 * time_s + 2)], axis=1)  # fmt: skip
    poses = np.tile(np.eye(4), (len(time_s), 1, 1))
    poses[:, :3, :3] = matrix_from_vector(turns)
    poses[:, :3, 3] = 0.1 * np.sin(np.stack([time_s, 1.3 * time_s, 0.7 * time_s], axis=1))
    hand = TimedPoses(time_s, poses)
    seen_s = np.arange(2.0, 18.0, 0.033)
    boards = np.linalg.inv(hand.at(seen_s) @ CAMERA) @ BOARD
    pairs = pairs_of_tracks(hand, TimedPoses(seen_s - 0.337, boards))
    solution = solve_hand_eye(pairs)
    assert error_of(solution.camera)[3:] == pytest.approx(np.zeros(3), abs=5e-4)
    assert pairs.adjustable is not None
    assert pairs.adjustable.names == ("clock_s",)
    with pytest.raises(CorporealError, match="turn alike"):
        pairs_of_tracks(hand, TimedPoses(time_s, np.roll(poses, 700, axis=0)[::-1].copy()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["franka", "moveit"])
def test_a_left_out_pair_is_told_no_worse_than_by_any_closed_form(name: str) -> None:
    pairs, mount = real_pairs()[name]
    ours = leave_out(pairs, mount).rms_m
    for method in METHODS:
        assert ours <= 1.001 * leave_out(pairs, mount, method).rms_m


def test_the_other_mount_explains_a_real_set_far_worse() -> None:
    for pairs, mount in real_pairs().values():
        other: Mount = "eye_in_hand" if mount == "eye_to_hand" else "eye_to_hand"
        right = solve_hand_eye(pairs, mount)
        wrong = solve_hand_eye(pairs, other)
        assert wrong.robot_m > 10 * right.robot_m
        assert rotation_angle(right.camera[:3, :3], np.eye(3)) >= 0
