"""Hands that glasses or a headset saw become a robot's motion, and gaps are told, not filled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.collision import CollisionModel
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts
from corporeal.geometry import Array
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.hands.hand_track import BETWEEN, NOT_SEEN, SEEN, grid_of, track_hand
from corporeal.teleoperation.hands.hands_episode import write_episode
from corporeal.teleoperation.hands.hands_to_robot import follow_hands, human_hand_pose
from corporeal.teleoperation.operator_input import (
    INDEX_TIP,
    THUMB_TIP,
    InputError,
    InputTimes,
    OperatorHand,
    OperatorInput,
    read_inputs,
)

pytest.importorskip("daqp", reason="needs the extra robot")

ARIA = "ego/aria_mps_hands/hand_tracking"


@pytest.fixture(scope="module")
def robot() -> Embodiment:
    return open_robot("g1")


def _made(
    positions: Array, *, rate_hz: float = 90.0, heading_rad: float = 0.0
) -> list[OperatorInput]:
    """A person who stands in a room, turned by a heading, and moves the right hand."""
    turn = np.array(
        [[np.cos(heading_rad), -np.sin(heading_rad), 0],
         [np.sin(heading_rad), np.cos(heading_rad), 0], [0, 0, 1]]
    )  # fmt: skip
    facing = np.array([np.cos(heading_rad / 2), 0, 0, np.sin(heading_rad / 2)])
    inputs = []
    for number, place in enumerate(positions):
        stamp = round(number * 1e9 / rate_hz)
        pose = np.concatenate([turn @ place + [2.0, 1.0, 0.0], facing])
        hand = OperatorHand("hand", 1, pose) if np.isfinite(place).all() else None
        head = np.concatenate([[2.0, 1.0, 1.6], facing])
        inputs.append(OperatorInput(number, InputTimes(stamp, stamp), head=head, right=hand))
    return inputs


def _circle(robot: Embodiment, seconds: float = 2.0) -> Array:
    """Places of a person's hand, relative to their feet, that a G1's hand has in front of it."""
    time = np.arange(round(seconds * 90)) / 90
    head = 0.42  # what a G1's head is above its base, about
    height = 1.6 - head + 0.18
    return np.stack(
        [0.30 + 0.03 * np.sin(3 * time), -0.2 + 0.03 * np.cos(3 * time),
         np.full(len(time), height)], axis=1,
    )  # fmt: skip


def test_hands_in_front_are_followed_to_a_millimetre_or_so(robot: Embodiment) -> None:
    motion = follow_hands(_made(_circle(robot)), robot)
    assert motion.reached_share > 0.95
    assert np.nanmedian(motion.error_m) < 0.002
    assert motion.seen_share == pytest.approx(1.0, abs=0.02)
    assert CollisionModel(robot).distances(motion.joints).minimum_m.min() >= 0.005


def test_the_room_and_where_the_person_looks_make_no_difference(robot: Embodiment) -> None:
    first, second = (
        follow_hands(_made(_circle(robot, 1.0), heading_rad=heading), robot)
        for heading in (0.0, 2.0)
    )
    assert np.allclose(first.joints, second.joints, atol=1e-3)
    back = [human_hand_pose(motion, "right")[:, :3] for motion in (first, second)]
    assert np.nanmax(np.abs(back[0] - back[1])) < 1e-3
    assert np.nanmax(np.abs(back[0] - first.goals["right"])) < 1e-6


def test_short_gaps_are_bridged_and_marked_and_long_ones_left_open() -> None:
    places = np.tile([0.3, -0.2, 1.3], (180, 1)) + 0.001 * np.arange(180)[:, None]
    places[60:65] = np.nan
    places[100:140] = np.nan
    inputs = _made(places)
    times = grid_of(inputs, 90.0)
    track = track_hand(inputs, "right", times)
    assert set(track.seen[:58]) == {SEEN}
    assert BETWEEN in track.seen[60:65]
    assert np.isfinite(track.pose[60:65]).all()
    assert set(track.seen[102:138]) == {NOT_SEEN}
    assert np.isnan(track.pose[102:138]).all()
    assert track_hand(inputs, "left", times).seen.max() == NOT_SEEN


def _pinching(inputs: list[OperatorInput], apart_m: Array) -> list[OperatorInput]:
    """The same right hands with thumb and index finger so far apart; NaN where no tip is known."""
    pinched = []
    for given, apart in zip(inputs, apart_m, strict=True):
        hand = given.right
        if hand is not None and hand.pose is not None:
            joints = np.full((26, 8), np.nan)
            joints[[THUMB_TIP, INDEX_TIP], :3] = hand.pose[:3]
            joints[INDEX_TIP, 2] += apart
            joints[:, 3:] = (1, 0, 0, 0, 0.01)
            hand = replace(hand, joints=joints)
        pinched.append(replace(given, right=hand))
    return pinched


def test_a_grip_is_no_more_made_up_in_a_gap_than_a_place() -> None:
    places = np.tile([0.3, -0.2, 1.3], (270, 1))
    apart = np.where(np.arange(270) < 150, 0.1, 0.0)
    places[100:190] = np.nan
    apart[20:24] = apart[50:80] = np.nan
    inputs = _pinching(_made(places), apart)
    track = track_hand(inputs, "right", grid_of(inputs, 90.0))
    assert np.isnan(track.opening[102:188]).all()
    # Fingertips that nobody knew are no open hand either, however well the wrist was seen.
    assert np.isnan(track.opening[52:78]).all()
    assert set(track.seen[50:80]) == {SEEN}
    assert np.allclose(track.opening[:50], 1.0)
    assert np.allclose(track.opening[190:], 0.0)


def test_a_slow_recording_is_not_filled_between_its_samples() -> None:
    places = np.tile([0.3, -0.2, 1.3], (20, 1)) + 0.001 * np.arange(20)[:, None]
    inputs = _made(places, rate_hz=2.0)
    track = track_hand(inputs, "right", grid_of(inputs, 50.0))
    assert (track.seen == NOT_SEEN).mean() > 0.7


def test_an_episode_says_which_stretches_were_not_seen_and_holds_arm_and_grip_there(
    robot: Embodiment, tmp_path: Path
) -> None:
    places = _circle(robot, 1.5)
    places[45:90] = np.nan
    inputs = _pinching(_made(places), np.where(np.arange(135) < 60, 0.1, 0.0))
    motion = follow_hands(inputs, robot)
    source = tmp_path / "made.json"
    source.write_text("{}")
    with Episode(write_episode(motion, source, tmp_path / "take.h5")) as episode:
        stretches = read_facts(episode.metadata).segments
        gripper = episode["actions/right_gripper_target"][:].ravel()
    assert [stretch.not_seen for stretch in stretches] == [(), ("right_hand",), ()]
    assert 0.48 < stretches[1].start_ns / 1e9 < 0.54
    assert 0.94 < stretches[1].end_ns / 1e9 < 1.0
    assert set(np.round(gripper, 6)) == {0.0, 1.0}
    assert np.flatnonzero(gripper == 0.0)[0] / 50 > 0.97


def test_what_no_hand_can_do_is_left_out_and_counted() -> None:
    places = np.tile([0.3, -0.2, 1.3], (90, 1))
    places[40] += [1.0, 0, 0]
    inputs = _made(places)
    track = track_hand(inputs, "right", grid_of(inputs, 90.0))
    assert track.glitches == 1
    assert np.nanmax(np.abs(track.pose[:, 0] - track.pose[0, 0])) < 1e-6


def test_a_wrong_first_sample_and_a_small_kink_are_left_out_alone() -> None:
    time = np.arange(120) / 90
    places = np.stack([0.3 + 0.1 * np.sin(3 * time), -0.2 + 0 * time, 1.3 + 0 * time], axis=1)
    wrong = places.copy()
    wrong[0] += [0.0, 0.8, 0.0]
    wrong[60] += [0.0, 0.03, 0.0]
    inputs = _made(wrong)
    track = track_hand(inputs, "right", np.arange(1, 119) / 90)
    assert track.glitches == 2
    assert np.ptp(track.pose[:, 1]) == pytest.approx(np.ptp(places[:, 1]), abs=1e-6)
    assert (track.seen > NOT_SEEN).all()


def test_a_real_capture_becomes_an_episode_that_tells_what_was_seen(
    robot: Embodiment, shared_data: Path, tmp_path: Path
) -> None:
    capture = shared_data / "teleop/webxr_quest3_capture/capture.json"
    inputs = list(read_inputs(capture))[:720]
    motion = follow_hands(inputs, robot)
    path = write_episode(motion, capture, tmp_path / "take.h5", {"task": "wave"})
    with Episode(path) as episode:
        assert episode.metadata["mode"] == "egocentric demonstration"
        assert episode.metadata["hands_to_robot"]["reached_share"] == motion.reached_share
        seen = episode["debug/hand_seen"][:]
        assert seen.shape == (len(motion.joints), 2)
        limits = ArmModel(robot)
        arms = episode["observations/joint_position"][:][:, limits.columns]
        assert (arms <= limits.upper + 1e-6).all()
        assert (arms >= limits.lower - 1e-6).all()
        opening = episode["actions/left_gripper_target"][:]
        assert 0 <= opening.min() < opening.max() <= 1


def test_zeros_of_an_untracked_hand_are_no_place(shared_data: Path) -> None:
    inputs = list(read_inputs(shared_data / ARIA / "wrist_and_palm_poses.csv"))
    assert len(inputs) == 115
    right = [given.right for given in inputs if given.right is not None]
    assert len(right) == 6
    assert all(given.left is None for given in inputs)
    for given in inputs:
        if given.right is not None:
            assert given.head is not None
            assert given.right.pose is not None
            assert 0.2 < np.linalg.norm(given.right.pose[:3] - given.head[:3]) < 0.7


def test_hands_of_another_recording_than_the_trajectory_are_refused(shared_data: Path) -> None:
    with pytest.raises(InputError, match=r"1762\.6 to 1817\.2 s.*149\.2 to 160\.6 s"):
        list(read_inputs(shared_data / ARIA / "hand_tracking_results_v2.csv"))


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "no known kind"), ("tracking_timestamp_us,left_tracking_confidence\n", "trajectory|rows"),
     ("tracking_timestamp_us,left_tracking_confidence\n1,2,3\n", "cannot be read|trajectory")],
)  # fmt: skip
def test_a_broken_table_is_refused_in_a_sentence(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "hands.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=why):
        list(read_inputs(path))


def test_a_recording_without_a_head_or_hands_is_refused(robot: Embodiment) -> None:
    inputs = _made(_circle(robot, 0.5))
    with pytest.raises(InputError, match="pose of the head"):
        follow_hands([replace(given, head=None) for given in inputs], robot)
    with pytest.raises(InputError, match="hand was seen"):
        follow_hands([replace(given, right=None) for given in inputs], robot)
