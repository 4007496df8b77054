"""Following a robot's motion in MuJoCo: what survives, what needs help, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.joints import standing_positions
from corporeal.errors import ModelError
from corporeal.geometry import Array, matrix_from_rpy, quaternion_from_matrix
from corporeal.retargeting.tracking.reference import (
    MotionTrackingError,
    ReferenceMotion,
    reference_of,
)
from corporeal.retargeting.tracking.trackability import (
    TrackingResult,
    key_points,
    point_errors,
    track,
)
from corporeal.retargeting.tracking.tracker import SensedState, open_policy, trackers
from corporeal.retargeting.tracking.trackers.twist2 import JOINTS, REST, Twist2

pytest.importorskip("mujoco")

RATE_HZ = 50.0


@pytest.fixture(scope="module")
def g1() -> Embodiment:
    return open_robot("g1")


@pytest.fixture(scope="module")
def network(shared_data: Path) -> Path:
    pytest.importorskip("onnxruntime")
    return shared_data / "policies" / "g1_tracker_twist2" / "twist2_1017_25k.onnx"


@pytest.fixture(scope="module")
def walk(shared_data: Path) -> tuple[float, Array, Array]:
    rows = np.loadtxt(shared_data / "retarget" / "g1_csv_wxyz" / "output_walk.csv", delimiter=",")
    return 30.0, rows[:, 7:], rows[:, :7]


def still(robot: Embodiment, seconds: float, *, lifted_m: float = 0.0) -> tuple[Array, Array]:
    """A robot that stands: joints and base at 50 Hz."""
    assert robot.standing is not None
    frames = round(seconds * RATE_HZ) + 1
    base = [0.0, 0.0, robot.standing.height + lifted_m, 1.0, 0.0, 0.0, 0.0]
    return np.tile(standing_positions(robot), (frames, 1)), np.tile(base, (frames, 1))


def legs_up(robot: Embodiment, q: Array) -> Array:
    """The same with both thighs level: nothing is left to stand on."""
    columns = [robot.joint_names.index(f"{side}_hip_pitch_joint") for side in ("left", "right")]
    out = q.copy()
    out[:, columns] = -1.5
    return out


def reference(robot: Embodiment, rate_hz: float, q: Array, base: Array) -> ReferenceMotion:
    return reference_of(robot, rate_hz, q, base, contacts=None, at_hz=RATE_HZ)


# The tracker


def test_the_tracker_stands_for_ten_seconds(g1: Embodiment, network: Path) -> None:
    result = track(g1, RATE_HZ, *still(g1, 10.0), tracker=network)
    assert result.method == "twist2"
    assert result.survived
    assert result.survived_s == pytest.approx(10.0)
    assert result.keypoint_error_m.mean < 0.03
    assert result.drift_m < 0.1
    assert result.help is None


def test_the_tracker_follows_a_walk_within_a_few_centimetres(
    g1: Embodiment, network: Path, walk: tuple[float, Array, Array]
) -> None:
    result = track(g1, *walk, tracker=network)
    assert result.survived
    assert result.fell_at_s is None
    assert result.keypoint_error_m.mean < 0.06
    went = np.linalg.norm(result.base[-1, :2] - result.base[0, :2])
    assert went > 2.5, "it walks, it does not stand and wave"


@pytest.mark.slow
def test_the_tracker_follows_half_a_minute_of_dance(
    g1: Embodiment, network: Path, shared_data: Path
) -> None:
    path = shared_data / "retarget" / "g1_csv_xyzw" / "dance_102" / "G1_Take_102.bvh_60hz.csv"
    rows = np.loadtxt(path, delimiter=",")
    result = track(g1, 60.0, rows[:, 7:], rows[:, [0, 1, 2, 6, 3, 4, 5]], tracker=network)
    assert result.survived
    assert result.survived_s > 29.0
    assert result.keypoint_error_m.mean < 0.06


def test_a_motion_with_nothing_to_stand_on_ends_in_a_fall(g1: Embodiment, network: Path) -> None:
    q, base = still(g1, 2.0)
    result = track(g1, RATE_HZ, legs_up(g1, q), base, tracker=network)
    assert not result.survived
    assert result.fell_at_s is not None
    assert result.fell_at_s < 1.0
    assert result.survived_s < result.fell_at_s <= result.duration_s
    assert len(result.q) == round(result.survived_s * RATE_HZ) + 1


def test_twist2_sees_command_then_body_then_the_past_from_the_oldest(g1: Embodiment) -> None:
    q, base = still(g1, 0.2)
    base[:, 0] = 0.5 * np.arange(len(base)) / RATE_HZ
    follower = Twist2(reference(g1, RATE_HZ, q, base))
    state = SensedState(
        REST + 0.1, np.ones(29), np.array([1.0, 0, 0, 0]), np.array([0.0, 0.0, 2.0])
    )
    first = follower.observe(state, 0)
    assert first.shape == (1432,)
    np.testing.assert_allclose(first[:3], [0.5, 0.0, base[0, 2]], atol=1e-6)
    np.testing.assert_allclose(first[6:35], q[0], atol=1e-6)
    np.testing.assert_allclose(first[35:38], [0.0, 0.0, 0.5])
    np.testing.assert_allclose(first[40:69], 0.1, atol=1e-6)
    ankles = np.array(["ankle" in name for name in JOINTS])
    np.testing.assert_allclose(first[69:98], np.where(ankles, 0.0, 0.05), atol=1e-6)
    np.testing.assert_array_equal(first[98:127], 0.0)
    np.testing.assert_array_equal(first[127:1397], np.tile(first[:127], 10))
    np.testing.assert_array_equal(first[1397:], first[:35])
    targets = follower.targets(np.ones(29))
    np.testing.assert_allclose(targets, REST + 0.5)
    second = follower.observe(state, 1)
    np.testing.assert_array_equal(second[98:127], 1.0)
    np.testing.assert_array_equal(second[1270:1397], first[:127])
    third = follower.observe(state, 2)
    np.testing.assert_array_equal(third[1270:1397], second[:127])


def test_a_network_of_another_size_is_refused_with_what_is_known(
    g1: Embodiment, network: Path
) -> None:
    other = network.parents[1] / "g1_walk_holosoma" / "fastsac_g1_29dof.onnx"
    with pytest.raises(MotionTrackingError, match=r"\(1, 100\).*twist2 \(1432 in, 29 out"):
        open_policy(other, g1)


def test_a_robot_with_other_joints_is_refused_by_name(network: Path) -> None:
    robot = open_robot("g1_23dof")
    with pytest.raises(
        MotionTrackingError, match=r"29 joints.*'g1_23dof' has 23.*'waist_roll_joint'"
    ):
        track(robot, RATE_HZ, *still(robot, 0.2), tracker=network)


def test_a_file_that_is_no_network_is_refused(g1: Embodiment, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "net.onnx"
    path.write_bytes(b"no network at all")
    with pytest.raises(MotionTrackingError, match="not a network that runs here"):
        open_policy(path, g1)
    with pytest.raises(MotionTrackingError, match="no such file"):
        open_policy(tmp_path / "none.onnx", g1)


def test_every_tracker_says_what_it_drives() -> None:
    for tracker in trackers().values():
        assert len(tracker.joints) == tracker.outputs == len(tracker.servos.stiffness)
        assert tracker.description


# The replay with help


@pytest.mark.parametrize("name", ["g1", "g1_23dof", "h1", "gr1", "walker_s2"])
def test_every_robot_stands_with_hardly_any_help(name: str) -> None:
    robot = open_robot(name)
    result = track(robot, RATE_HZ, *still(robot, 1.0), tracker=None)
    assert result.method == "replay"
    assert result.survived
    assert result.help is not None
    assert result.help.force_mean_share < 0.03
    assert result.help.torque_mean_share < 0.01
    assert result.help.unsupported_mean_share < 0.01
    assert result.keypoint_global_m.max < 0.01


def test_a_robot_in_the_air_needs_its_whole_weight_held(g1: Embodiment) -> None:
    result = track(g1, RATE_HZ, *still(g1, 1.0, lifted_m=0.5), tracker=None)
    assert result.help is not None
    assert result.help.force_mean_share == pytest.approx(1.0, abs=0.05)
    assert result.help.force_mean_n == pytest.approx(9.81 * g1.mass, rel=0.05)
    assert result.help.unsupported_mean_share == pytest.approx(1.0, abs=0.01)


def test_a_motion_that_a_body_really_did_needs_less_help_than_one_that_sinks(
    g1: Embodiment, network: Path, walk: tuple[float, Array, Array]
) -> None:
    rate_hz, q, base = walk
    drawn = track(g1, rate_hz, q[:70], base[:70], tracker=None)
    done = track(g1, rate_hz, q[:70], base[:70], tracker=network)
    again = track(g1, done.rate_hz, done.q, done.base, tracker=None)
    assert drawn.help is not None
    assert again.help is not None
    assert again.help.force_mean_share < 0.15
    assert again.help.force_mean_share < drawn.help.force_mean_share / 2
    assert again.keypoint_error_m.mean < 0.015


def test_a_base_that_teleports_is_lost_by_its_spring(g1: Embodiment) -> None:
    q, base = still(g1, 1.0)
    base[25:, 0] += 100.0
    result = track(g1, RATE_HZ, q, base, tracker=None)
    assert not result.survived
    assert result.fell_at_s == pytest.approx(0.5, abs=0.1)


def test_joints_that_jump_wildly_leave_the_physics_sound(
    g1: Embodiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    q, base = still(g1, 0.4)
    wild = q + 1000.0 * np.random.default_rng(9).normal(size=q.shape)
    result = track(g1, RATE_HZ, wild, base, tracker=None)
    assert np.isfinite(result.q).all()
    assert np.isfinite(result.base).all()
    assert list(tmp_path.iterdir()) == [], "MuJoCo wrote down that the simulation was unstable"


def test_joints_beyond_their_effort_are_counted(g1: Embodiment) -> None:
    q, base = still(g1, 1.0)
    arm = g1.joint_names.index("left_shoulder_pitch_joint")
    swing = 12.0 * 2 * np.pi * np.arange(len(q)) / RATE_HZ
    q[:, arm] += 1.5 * np.sin(swing)
    result = track(g1, RATE_HZ, q, base, tracker=None)
    assert result.help is not None
    assert result.help.overloaded_share > 0.5
    calm = track(g1, RATE_HZ, *still(g1, 0.2), tracker=None)
    assert calm.help is not None
    assert calm.help.overloaded_share == 0.0


# What is measured


def test_contacts_are_compared_with_the_feet_on_the_floor(g1: Embodiment) -> None:
    q, base = still(g1, 0.4)
    standing = np.ones((len(q), 2, 2), bool)
    half = standing.copy()
    half[:, 1] = False
    agrees = track(g1, RATE_HZ, q, base, tracker=None, contacts=standing).contact_agreement
    differs = track(g1, RATE_HZ, q, base, tracker=None, contacts=half).contact_agreement
    assert agrees is not None
    assert agrees > 0.9
    assert differs == pytest.approx(0.5, abs=0.1)
    assert track(g1, RATE_HZ, q, base, tracker=None).contact_agreement is None


def test_the_error_on_the_body_forgets_place_and_heading(g1: Embodiment) -> None:
    q, base = still(g1, 0.2)
    moved = base.copy()
    moved[:, :2] += (3.0, -1.0)
    moved[:, 3:] = quaternion_from_matrix(matrix_from_rpy((0.0, 0.0, 2.0)))
    body, world = point_errors(g1, (q, moved), (q, base))
    assert max(errors.max() for errors in body.values()) < 1e-9
    np.testing.assert_allclose(world["base"], np.hypot(3.0, 1.0))


def test_key_points_name_hands_feet_knees_elbows_on_every_robot() -> None:
    for name in ("g1", "g1_23dof", "h1", "gr1", "walker_s2"):
        points = key_points(open_robot(name))
        for part in ("hand", "foot", "knee", "elbow", "shoulder"):
            assert {f"left_{part}", f"right_{part}"} <= set(points), name
        assert {"base", "head"} <= set(points)


def test_a_result_is_plain_json_without_the_motion(g1: Embodiment) -> None:
    told: list[float] = []
    result = track(g1, RATE_HZ, *still(g1, 0.2), tracker=None, progress=told.append)
    assert isinstance(result, TrackingResult)
    plain = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert plain["method"] == "replay"
    assert plain["survived"] is True
    assert set(plain["keypoint_error_m"]) == {"mean", "p95", "max"}
    assert "q" not in plain
    assert "base" not in plain
    assert told[-1] == 1.0
    assert told == sorted(told)


def test_a_motion_is_resampled_with_its_velocities(g1: Embodiment) -> None:
    q, _ = still(g1, 1.2)
    time_s = np.arange(len(q)) / 120.0
    q[:, 0] = 0.3 * np.sin(2 * np.pi * time_s)
    base = np.zeros((len(q), 7))
    base[:, 0], base[:, 2] = 0.7 * time_s, 0.8
    yaw = 1.5 * time_s
    base[:, 3], base[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    base[::3, 3:] *= -1.0
    at = reference(g1, 120.0, q, base)
    assert len(at) == int(time_s[-1] * 50) + 1
    now = np.arange(len(at)) / 50.0
    np.testing.assert_allclose(at.q[:, 0], 0.3 * np.sin(2 * np.pi * now), atol=1e-5)
    wanted = 0.6 * np.pi * np.cos(2 * np.pi * now)
    np.testing.assert_allclose(at.rates[2:-2, 0], wanted[2:-2], atol=1e-2)
    np.testing.assert_allclose(at.velocity, np.tile([0.7, 0, 0], (len(at), 1)), atol=1e-6)
    np.testing.assert_allclose(at.angular_velocity, np.tile([0, 0, 1.5], (len(at), 1)), atol=1e-5)


# What is refused


def test_a_single_frame_is_refused(g1: Embodiment) -> None:
    q, base = still(g1, 0.0)
    with pytest.raises(MotionTrackingError, match="motion of 1 frame; expected at least 2"):
        track(g1, RATE_HZ, q, base, tracker=None)


def test_missing_numbers_are_refused_with_their_frame(g1: Embodiment) -> None:
    q, base = still(g1, 0.2)
    q[7, 3] = np.nan
    with pytest.raises(MotionTrackingError, match="in 1 frames, the first is frame 7"):
        track(g1, RATE_HZ, q, base, tracker=None)


def test_a_base_below_the_ground_is_refused(g1: Embodiment) -> None:
    q, base = still(g1, 0.2)
    base[4:, 2] = -0.25
    with pytest.raises(MotionTrackingError, match=r"base 0.25 m below the ground in frame 4"):
        track(g1, RATE_HZ, q, base, tracker=None)


def test_a_robot_without_feet_is_refused(g1: Embodiment) -> None:
    robot = g1.model_copy(update={"feet": {}})
    with pytest.raises(ModelError, match="declares no feet"):
        track(robot, RATE_HZ, *still(g1, 0.2), tracker=None)


@pytest.mark.parametrize(
    ("rate_hz", "words"),
    [(0.0, "0.0 Hz"), (float("nan"), "nan Hz"), (1e-6, "at most 3600"), (1e4, "shorter than")],
)
def test_a_rate_that_cannot_be_is_refused(g1: Embodiment, rate_hz: float, words: str) -> None:
    with pytest.raises(MotionTrackingError, match=words):
        track(g1, rate_hz, *still(g1, 0.2), tracker=None)


def test_arrays_of_the_wrong_shape_are_refused(g1: Embodiment) -> None:
    q, base = still(g1, 0.2)
    with pytest.raises(ModelError, match="expected \\(frames, 29\\)"):
        track(g1, RATE_HZ, q[:, :20], base, tracker=None)
    with pytest.raises(ModelError, match="base poses do not fit"):
        track(g1, RATE_HZ, q, base[:-1], tracker=None)
    with pytest.raises(MotionTrackingError, match="contacts of shape"):
        track(g1, RATE_HZ, q, base, tracker=None, contacts=np.ones((3, 2, 2)))
    with pytest.raises(MotionTrackingError, match="quaternion of zeros"):
        track(g1, RATE_HZ, q, base * [1, 1, 1, 0, 0, 0, 0], tracker=None)
