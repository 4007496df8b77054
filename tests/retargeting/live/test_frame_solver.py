"""The live solver: follows within limits, frame by frame, whatever is missing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from tests.retargeting.people import walking_person

from corporeal.embodiment import open_robot
from corporeal.embodiment.collision import CollisionModel
from corporeal.geometry import Array
from corporeal.retargeting.goal.robot_map import RobotMap, robot_map
from corporeal.retargeting.live.frame_solver import FrameSolver, LivePose, bounded_step
from corporeal.retargeting.motion import NEEDED, POINTS, HumanMotion, MotionError

pytest.importorskip("pinocchio", reason="live retargeting needs the extra robot")


@pytest.fixture(scope="module")
def g1() -> RobotMap:
    return robot_map(open_robot("g1"))


def _followed(robot: RobotMap, motion: HumanMotion, *, rotations: bool = False) -> list[LivePose]:
    solver = FrameSolver(robot)
    found = []
    for frame in range(len(motion)):
        known = (
            {name: rotation[frame] for name, rotation in motion.rotations.items()}
            if rotations
            else {}
        )
        pose = solver.step(
            motion.positions[frame], motion.confidence[frame], known, 1 / motion.rate_hz
        )
        if pose is not None:
            found.append(pose)
    return found


def _assert_within_limits(robot: RobotMap, poses: Iterable[LivePose], rate_hz: float) -> None:
    q = np.array([pose.q for pose in poses])
    for column, joint in enumerate(robot.robot.actuated):
        if joint.lower is not None:
            assert q[:, column].min() >= joint.lower, joint.name
        if joint.upper is not None:
            assert q[:, column].max() <= joint.upper, joint.name
        if joint.velocity is not None:
            assert np.abs(np.diff(q[:, column])).max() * rate_hz <= joint.velocity, joint.name


@pytest.mark.parametrize("rotations", [True, False])
def test_a_walk_is_followed_closely_within_all_limits(g1: RobotMap, rotations: bool) -> None:
    motion = walking_person(240)
    poses = _followed(g1, motion, rotations=rotations)
    assert len(poses) == 240
    errors = np.array([pose.error_m for pose in poses])
    assert errors.mean() < 0.005
    assert np.quantile(errors, 0.99) < 0.02
    assert all(pose.ok for pose in poses)
    _assert_within_limits(g1, poses, motion.rate_hz)


@pytest.mark.parametrize("name", ["g1_23dof", "h1", "gr1"])
def test_other_robots_follow_too(name: str) -> None:
    robot, motion = robot_map(open_robot(name)), walking_person(120)
    poses = _followed(robot, motion)
    assert np.array([pose.error_m for pose in poses]).mean() < 0.01
    _assert_within_limits(robot, poses, motion.rate_hz)


def test_a_standing_foot_neither_slides_nor_sinks(g1: RobotMap) -> None:
    motion = walking_person(240)
    poses = _followed(g1, motion)
    q, base = (np.array([getattr(pose, name) for pose in poses]) for name in ("q", "base"))
    soles = g1.kinematics.feet(q, base).positions
    assert motion.contacts is not None
    for foot in range(2):
        flat = motion.contacts[1:, foot].min(axis=1) > 0
        speed = np.linalg.norm(np.diff(soles[:, foot, :2], axis=0), axis=1) * motion.rate_hz
        assert speed[flat].mean() < 0.02
        assert np.abs(soles[1:, foot, 2][flat]).mean() < 0.005
    assert soles[:, :, 2].min() > -0.01


def test_a_person_who_begins_facing_backwards_is_followed_from_the_first_frame(
    g1: RobotMap,
) -> None:
    motion = walking_person(30)
    motion.positions[...] *= np.array([-1.0, -1.0, 1.0])
    poses = _followed(g1, motion)
    assert poses[0].ok
    assert max(pose.error_m.max() for pose in poses) < 0.02


def test_noise_of_two_centimetres_stays_within_limits_and_reach(g1: RobotMap) -> None:
    motion = walking_person(240)
    motion.positions[...] += np.random.default_rng(1).normal(0, 0.02, motion.positions.shape)
    poses = _followed(g1, motion)
    _assert_within_limits(g1, poses, motion.rate_hz)
    assert np.mean([pose.ok for pose in poses]) > 0.98


def test_a_hidden_wrist_and_an_outlier_do_not_throw_the_arm(g1: RobotMap) -> None:
    clean, broken = walking_person(120), walking_person(120)
    wrist, elbow = POINTS.index("left_wrist"), POINTS.index("right_elbow")
    hidden = slice(60, 75)
    for point in (wrist, POINTS.index("left_hand")):
        broken.positions[hidden, point] = np.nan
        broken.confidence[hidden, point] = 0
    broken.positions[90, elbow] += 3.0
    a, b = (_angles(_followed(g1, motion)) for motion in (clean, broken))
    assert np.abs(a[89:] - b[89:]).max() < 0.35
    assert np.abs(np.diff(b, axis=0)).max() < 0.11


def test_hands_pressed_into_the_belly_stay_near_its_surface(g1: RobotMap) -> None:
    motion = walking_person(150)
    pressed = np.clip((np.arange(150) - 30) / 60, 0, 1)[:, None]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        belly = motion.point("chest") + np.array([0.0, -0.12 * sign, -0.1])
        elbow = motion.point(f"{side}_shoulder") + np.array([0.12, 0.05 * sign, -0.28])
        for part, goal in (("wrist", belly), ("hand", belly), ("elbow", elbow)):
            point = motion.point(f"{side}_{part}")
            point += pressed * (goal - point)
    poses = _followed(g1, motion)
    depth = CollisionModel(g1.robot).distances(_angles(poses)).minimum_m
    # Without a guard it is over 9 cm.
    assert depth.min() > -0.05
    _assert_within_limits(g1, poses, motion.rate_hz)
    assert np.abs(np.diff(_angles(poses), 2, axis=0)).max() < 0.15


def test_nothing_is_sent_before_the_whole_person_was_seen(g1: RobotMap) -> None:
    motion = walking_person(10)
    motion.confidence[:5, POINTS.index("left_knee")] = 0
    motion.positions[:5, POINTS.index("left_knee")] = np.nan
    assert len(_followed(g1, motion)) == 5


def test_the_needed_points_alone_are_enough(g1: RobotMap) -> None:
    motion = walking_person(120)
    for index, name in enumerate(POINTS):
        if name not in NEEDED or name in ("pelvis", "neck"):
            motion.positions[:, index], motion.confidence[:, index] = np.nan, 0
    poses = _followed(g1, motion)
    assert len(poses) == 120
    assert np.array([pose.error_m for pose in poses]).mean() < 0.01


def test_limbs_in_millimetres_are_refused_in_words(g1: RobotMap) -> None:
    motion = walking_person(2)
    with pytest.raises(MotionError, match=r"expected 0\.05 to 1\.0 m"):
        FrameSolver(g1).step(motion.positions[0] * 40, motion.confidence[0], {}, 1 / 120)


def test_a_step_within_bounds_is_the_best_one() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        root = rng.normal(size=(6, 6))
        normal, slope = root @ root.T + 0.1 * np.eye(6), rng.normal(size=6) * 3
        low, high = -rng.uniform(0.0, 0.5, 6), rng.uniform(0.0, 0.5, 6)
        x = bounded_step(normal, slope, low, high)
        assert (x >= low).all()
        assert (x <= high).all()
        best = _descended(normal, slope, low, high)
        assert _cost(normal, slope, x) == pytest.approx(_cost(normal, slope, best), abs=1e-3)


def _cost(normal: Array, slope: Array, x: Array) -> float:
    return float(x @ normal @ x / 2 - slope @ x)


def _descended(normal: Array, slope: Array, low: Array, high: Array) -> Array:
    x = np.zeros(len(slope))
    pace = 1 / np.linalg.norm(normal, 2)
    for _ in range(3000):
        x = np.clip(x - pace * (normal @ x - slope), low, high)
    return x


def _angles(poses: list[LivePose]) -> Array:
    return np.array([pose.q for pose in poses])
