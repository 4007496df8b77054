"""Hands of every device are read into one schema; sentinels are no hands, guesses are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.teleoperation.hands.hand_files import (
    avp_frames,
    mediapipe_frames,
    real_hands,
    write_egodex,
    write_lines,
    write_table,
)

from corporeal.exchange.restricted_pickle import read_pickle
from corporeal.geometry import Array
from corporeal.teleoperation.hands.hand_layout import (
    ORDERS_21,
    columns_of,
    joint_named,
    order_of,
    side_of,
)
from corporeal.teleoperation.hands.hand_track import grid_of
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    PALM,
    SIDES,
    WRIST,
    InputError,
    OperatorInput,
    read_inputs,
)


def _joints(inputs: list[OperatorInput], side: Any) -> Array:
    """Joints (T, 26, 3), NaN where there was no hand."""
    nothing = np.full((26, 8), np.nan)
    hands = [given.hand(side) for given in inputs]
    return np.array([nothing if hand is None or hand.joints is None else hand.joints
                     for hand in hands])[:, :, :3]  # fmt: skip


def _is_same(inputs: list[OperatorInput], *, tolerance_m: float, relative: bool = False) -> None:
    _, heads, joints = real_hands()
    for side in SIDES:
        wanted = joints[side].copy()
        wanted[:, PALM] = np.nan
        if relative:
            wanted -= wanted[:, WRIST : WRIST + 1]
        got = _joints(inputs, side)
        known = np.isfinite(got[:, :, 0])
        assert known[:, WRIST].mean() > 0.95
        assert np.nanmax(np.abs(got - wanted)) < tolerance_m
    if relative:
        return
    head = np.array([given.head for given in inputs])
    assert np.abs(head[:, :3] - heads[:, :3]).max() < tolerance_m
    assert np.abs((head[:, 3:] * heads[:, 3:]).sum(axis=1)).min() > 1 - 1e-5


@pytest.mark.parametrize("looks", [1.0, -1.0])
def test_egodex_is_read_whichever_way_its_camera_looks(tmp_path: Path, looks: float) -> None:
    write_egodex(tmp_path / "0.hdf5", looks=looks)
    inputs = list(read_inputs(tmp_path / "0.hdf5"))
    _is_same(inputs, tolerance_m=1e-5)
    assert inputs[30].times.device_ns == 1_000_000_000
    hand = inputs[0].left
    assert hand is not None
    assert hand.confidence is not None
    assert hand.confidence[WRIST] == pytest.approx(0.9)


def test_egodex_without_confidence_in_a_wrist_has_no_hand_there(tmp_path: Path) -> None:
    write_egodex(tmp_path / "0.hdf5")
    with h5py.File(tmp_path / "0.hdf5", "r+") as file:
        file["confidences/leftHand"][10:20] = 0.0
        file["transforms/rightHand"][30:40] = np.eye(4)
        file["confidences/rightIndexFingerTip"][50:60] = 0.0
        matrices = file["transforms/leftHand"][:]
        matrices[60, :3, :3] = 0.0
        file["transforms/leftHand"][...] = matrices
    inputs = list(read_inputs(tmp_path / "0.hdf5"))
    assert all(given.left is None for given in inputs[10:20])
    assert inputs[60].left is None
    tip = HAND_JOINTS.index("index_finger_tip")
    assert np.isnan(_joints(inputs, "right")[50:60, tip]).all()
    assert np.isfinite(_joints(inputs, "right")[50:60, WRIST]).all()


def test_egodex_whose_hands_are_on_both_sides_of_the_camera_is_refused(tmp_path: Path) -> None:
    write_egodex(tmp_path / "0.hdf5")
    with h5py.File(tmp_path / "0.hdf5", "r+") as file:
        camera = file["transforms/camera"][:]
        camera[: len(camera) // 2, :3, 1:3] *= -1
        file["transforms/camera"][...] = camera
    with pytest.raises(InputError, match="nobody knows where it looks"):
        list(read_inputs(tmp_path / "0.hdf5"))


def test_mirrored_hands_are_refused_and_not_taken_for_the_others(tmp_path: Path) -> None:
    write_table(tmp_path / "glove.csv", mirrored=True)
    with pytest.raises(InputError, match=r"left hand whose fingers bend as those of the right"):
        list(read_inputs(tmp_path / "glove.csv"))


def test_avp_stream_is_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "tracking.jsonl", avp_frames())
    _is_same(list(read_inputs(tmp_path / "tracking.jsonl")), tolerance_m=1e-6)


def test_sentinels_of_avp_stream_are_no_hands(tmp_path: Path) -> None:
    frames = avp_frames()[:60]
    identity = [float(value) for value in np.eye(4).ravel()]
    for frame in frames[:5]:
        frame["headMatrix"] = identity
        frame["leftHand"] = dict.fromkeys(frame["leftHand"], identity)
    for frame in frames[20:25]:
        frame["rightHand"] = None
    for frame in frames[40:45]:
        frame["rightHand"] = frames[39]["rightHand"]
    write_lines(tmp_path / "tracking.jsonl", frames)
    inputs = list(read_inputs(tmp_path / "tracking.jsonl"))
    assert all(given.left is None and given.head is None for given in inputs[:5])
    assert all(given.right is None for given in (*inputs[20:25], *inputs[40:45]))
    assert all(given.right is not None for given in (*inputs[:20], *inputs[25:40], *inputs[45:]))


def test_mediapipe_tells_hands_relative_to_their_wrists(tmp_path: Path) -> None:
    write_lines(tmp_path / "hands.jsonl", mediapipe_frames())
    inputs = list(read_inputs(tmp_path / "hands.jsonl"))
    _is_same(inputs, tolerance_m=1e-6, relative=True)
    hand = inputs[0].right
    assert hand is not None
    assert hand.pose is None
    assert not hand.is_tracked
    with pytest.raises(InputError, match="relative to their wrists"):
        grid_of(inputs, 50.0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"worldLandmarks": None, "landmarks": [[{"x": 0.5, "y": 0.5, "z": 0}]]}, "picture alone"),
        ({"handedness": []}, "2 hands of which 0 say which one"),
        ({"handedness": [[{"categoryName": "Foot"}]] * 2}, "called 'foot'"),
        ({"timestampMs": None}, 'without times and no "fps"'),
    ],
)
def test_results_that_leave_something_open_are_refused(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    frames = [{**frame, **change} for frame in mediapipe_frames()[:3]]
    frames = [{name: value for name, value in frame.items() if value is not None}
              for frame in frames]  # fmt: skip
    write_lines(tmp_path / "hands.jsonl", frames)
    with pytest.raises(InputError, match=why):
        list(read_inputs(tmp_path / "hands.jsonl"))


def test_a_real_hand_of_a_video_tells_its_order_and_its_side(
    shared_data: Path, tmp_path: Path
) -> None:
    frames = np.array(read_pickle(shared_data / "ego/hand21_video/human_joint_right.pkl"))
    np.save(tmp_path / "hand.npy", frames)
    with pytest.raises(InputError, match=r'no rate beside it \(hand.json with "fps"\)'):
        list(read_inputs(tmp_path / "hand.npy"))
    (tmp_path / "hand.json").write_text('{"fps": 30}')
    inputs = list(read_inputs(tmp_path / "hand.npy"))
    assert len(inputs) == 621
    assert all(given.left is None for given in inputs)
    apart = np.linalg.norm(np.diff(_joints(inputs, "right")[:, [5, 10]], axis=1)[:, 0], axis=1)
    assert 0.010 < np.nanmin(apart) < 0.02
    assert 0.14 < np.nanmax(apart) < 0.155
    (tmp_path / "hand.json").write_text('{"fps": 30, "side": "left"}')
    with pytest.raises(InputError, match="called left and bends its fingers as the right one"):
        list(read_inputs(tmp_path / "hand.npy"))


def test_points_in_an_order_that_nobody_uses_are_refused(tmp_path: Path) -> None:
    points = real_hands()[2]["right"][:, columns_of(ORDERS_21["mediapipe"])]
    shuffled = points[:, np.random.default_rng(3).permutation(21)]
    np.save(tmp_path / "hand.npy", shuffled)
    (tmp_path / "hand.json").write_text('{"fps": 30}')
    with pytest.raises(InputError, match="21 points"):
        list(read_inputs(tmp_path / "hand.npy"))


@pytest.mark.parametrize("order", ORDERS_21)
@pytest.mark.parametrize("side", SIDES)
def test_the_order_of_21_points_is_told_by_the_points(order: str, side: str) -> None:
    points = real_hands()[2][side][:, columns_of(ORDERS_21[order])]
    assert order_of(points) == order
    assert side_of(real_hands()[2][side]) == side


@pytest.mark.parametrize("scale", [1.0, 100.0, 1000.0])
def test_a_table_of_a_glove_is_read_in_its_unit(tmp_path: Path, scale: float) -> None:
    write_table(tmp_path / "glove.csv", scale=scale)
    inputs = list(read_inputs(tmp_path / "glove.csv"))
    _is_same(inputs, tolerance_m=2e-6)


def test_a_glove_without_a_tracker_is_relative_to_its_wrist(tmp_path: Path) -> None:
    rows = real_hands()[2]["right"]
    beside = rows - rows[:, WRIST : WRIST + 1]
    titles = [f"right_{joint}_{axis}" for joint in HAND_JOINTS for axis in "xyz"]
    table = np.concatenate([np.arange(len(rows))[:, None] / 90, beside.reshape(len(rows), -1)], 1)
    np.savetxt(tmp_path / "g.csv", table, delimiter=",", header=",".join(["time_s", *titles]),
               comments="")  # fmt: skip
    inputs = list(read_inputs(tmp_path / "g.csv"))
    hand = inputs[3].right
    assert hand is not None
    assert hand.pose is None
    assert np.allclose(_joints(inputs, "right"), beside, equal_nan=True, atol=1e-9)


def test_nodes_without_names_are_refused_with_the_reason(tmp_path: Path) -> None:
    header = ",".join(["t", *(str(number) for number in range(150))])
    (tmp_path / "manus.csv").write_text(header + "\n" + ",".join(["0.1"] * 151) + "\n")
    with pytest.raises(InputError, match="151 columns without names"):
        list(read_inputs(tmp_path / "manus.csv"))


def test_a_misplaced_sentinel_of_aria_is_no_hand(shared_data: Path) -> None:
    folder = shared_data / "ego/aria_mps_hands/hand_tracking"
    first, second = (
        list(read_inputs(folder / name))
        for name in ("wrist_and_palm_poses.csv", "wrist_and_palm_poses_v2.csv")
    )
    # The second version writes the -1 of an untracked hand into another column.
    assert len(first) == len(second)
    for older, newer in zip(first, second, strict=True):
        assert (older.right is None) == (newer.right is None)
        assert newer.left is None


@pytest.mark.parametrize(
    ("name", "side", "joint"),
    [
        ("leftIndexFingerKnuckle", "left", "index_finger_phalanx_proximal"),
        ("INDEX_FINGER_DIP", None, "index_finger_phalanx_distal"),
        ("rightThumbIntermediateTip", "right", "thumb_phalanx_distal"),
        ("THUMB_CMC", None, "thumb_metacarpal"),
        ("left_pinky_finger_tip", "left", "pinky_finger_tip"),
        ("littleMetacarpal", None, "pinky_finger_metacarpal"),
        ("rightHand", "right", "wrist"),
    ],
)
def test_a_joint_has_one_name_in_all_spellings(name: str, side: str | None, joint: str) -> None:
    assert joint_named(name) == (side, HAND_JOINTS.index(joint))


@pytest.mark.parametrize("name", ["forearmWrist", "leftForearm", "hip", "", "leftArm", "spine7"])
def test_what_is_no_joint_of_a_hand_has_none(name: str) -> None:
    assert joint_named(name) is None


@pytest.mark.parametrize("text", ['{"headMatrix": 3}', '{"headMatrix": [1]}\n', "[1, 2\n",
                                  '{"timestamp": 1, "headMatrix": [null]}', ""])  # fmt: skip
def test_a_broken_recording_ends_in_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "tracking.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"hands|input"):
        list(read_inputs(tmp_path / "tracking.jsonl"))
    (tmp_path / "hands.json").write_text(json.dumps({"worldLandmarks": text}))
    with pytest.raises(InputError, match="hands"):
        list(read_inputs(tmp_path / "hands.json"))
