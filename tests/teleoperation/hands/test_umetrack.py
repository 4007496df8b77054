"""Angles of UmeTrack become points by the profile of whose hand it is, or are refused without."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corporeal.geometry import Array, matrix_from_vector
from corporeal.teleoperation.hands.hand_layout import ARIA_21, columns_of
from corporeal.teleoperation.inputs.umetrack import HEADSET, METADATA, PROFILE
from corporeal.teleoperation.operator_input import InputError, OperatorInput, read_inputs

# A left hand with its fingers along x, the thumb's side along z; millimetres.
ROOTS = np.array([[40, -10, 30], [95, 0, 24], [96, 0, 2], [89, 0, -17], [78, 0, -35]], float)
BONES = np.array([[22, 25, 25], [38, 24, 22], [42, 27, 24], [38, 26, 24], [30, 19, 21]], float)
FINGER_AXIS, SPREAD_AXIS = np.array([0.0, 0.0, -1.0]), np.array([0.0, -1.0, 0.0])


def _chain(finger: int) -> Array:
    """The places of a finger's three joints and of its tip."""
    steps = np.concatenate([[0.0], np.cumsum(BONES[finger])])
    return np.asarray(ROOTS[finger] + steps[:, None] * [1.0, 0.0, 0.0])


def _profile() -> dict[str, Any]:
    axes, rest, points, bones = [], [], np.zeros((21, 3)), np.zeros((21, 3), int)
    for finger in range(5):
        chain = _chain(finger)
        axes += [SPREAD_AXIS, FINGER_AXIS, FINGER_AXIS, FINGER_AXIS]
        rest += [chain[0], chain[0], chain[1], chain[2]]
        points[finger], bones[finger] = chain[3], 4 + 3 * finger
    points[5], bones[5] = 0.0, 1
    for number, (finger, joint) in enumerate(
        [(0, 1), (0, 2), *((finger, joint) for finger in range(1, 5) for joint in range(3))]
    ):
        points[6 + number] = _chain(finger)[joint]
        bones[6 + number] = 1 if joint == 0 else 1 + 3 * finger + joint
    points[20], bones[20] = [80, -10, 4], [1, 1, 1]
    weights = np.tile([1.0, 0.0, 0.0], (21, 1))
    return {"hand_model": {
        "joint_rotation_axes": np.array([*axes, [0, 1, 0], [0, 0, 1]]).tolist(),
        "joint_rest_positions": np.array([*rest, [0, 0, 0], [0, 0, 0]]).tolist(),
        "landmark_rest_positions": points.tolist(),
        "landmark_rest_bone_weights": weights.tolist(),
        "landmark_rest_bone_indices": bones.tolist(),
    }}  # fmt: skip


def _write(folder: Path, *, headset: str = "Aria", count: int = 30) -> Path:
    """Two hands 40 cm before a head that looks along the world's x, with y up."""
    folder.mkdir(exist_ok=True)
    lines = []
    for number in range(count):
        poses: dict[str, Any] = {}
        for key, aside in (("0", 0.2), ("1", -0.2)):
            angles = np.zeros(22)
            angles[[5, 9, 13, 17]] = 0.4 + 0.01 * number
            poses[key] = {
                "wrist_xform": {"q_wxyz": [1.0, 0.0, 0.0, 0.0],
                                "t_xyz": [0.4 + 0.001 * number, 1.2, -aside]},
                "joint_angles": angles.tolist(),
            }  # fmt: skip
        if 10 <= number < 14:
            del poses["1"]
        lines.append({"timestamp_ns": 33_333_333 * number, "hand_poses": poses})
    path = folder / "umetrack_hand_pose_trajectory.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / PROFILE).write_text(json.dumps(_profile()))
    (folder / METADATA).write_text(json.dumps({"headset": headset}))
    # Aria's left camera: x down, and so on; the head's y is up in this world.
    with (folder / HEADSET).open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["object_uid", "timestamp[ns]", "t_wo_x[m]", "t_wo_y[m]", "t_wo_z[m]",
                       "q_wo_w", "q_wo_x", "q_wo_y", "q_wo_z"])  # fmt: skip
        half = np.sqrt(0.5)
        for number in range(count + 2):
            rows.writerow([1, 33_000_000 * number, 0.0, 1.6, 0.0, half, 0.0, 0.0, -half])
    return path


def _places(inputs: list[OperatorInput], side: Any, row: int) -> Array:
    hand = inputs[row].hand(side)
    assert hand is not None
    assert hand.joints is not None
    return np.asarray(hand.joints[columns_of(ARIA_21), :3])


def test_a_bent_finger_lies_where_its_bones_put_it(tmp_path: Path) -> None:
    inputs = list(read_inputs(_write(tmp_path)))
    assert len(inputs) == 30
    left = _places(inputs, "left", 3)
    angle = 0.43
    chain = _chain(1) / 1000
    turn = matrix_from_vector((FINGER_AXIS * angle)[None])[0]
    beside = chain[0] + turn @ (chain[3] - chain[0])
    wrist = left[ARIA_21.index("wrist")]
    tip = left[ARIA_21.index("index_finger_tip")]
    assert np.linalg.norm(tip - wrist) == pytest.approx(np.linalg.norm(beside), abs=1e-9)
    # The world had y up; ours has z up.
    assert wrist[2] == pytest.approx(1.2)
    assert (tip - wrist)[2] == pytest.approx(beside[1], abs=1e-9)


def test_the_right_hand_is_the_mirrored_left(tmp_path: Path) -> None:
    inputs = list(read_inputs(_write(tmp_path)))
    left, right = (_places(inputs, side, 0) for side in ("left", "right"))
    wrist = ARIA_21.index("wrist")
    apart = [np.linalg.norm(each - each[wrist], axis=1) for each in (left, right)]
    assert np.allclose(apart[0], apart[1], atol=1e-9)
    assert all(given.right is None for given in inputs[10:14])
    assert all(given.right is not None for given in inputs[14:])


def test_a_headset_whose_axes_nobody_wrote_down_tells_no_head(tmp_path: Path) -> None:
    inputs = list(read_inputs(_write(tmp_path, headset="Quest3")))
    assert all(given.head is None for given in inputs)
    assert next(iter(read_inputs(_write(tmp_path)))).head is not None


def test_without_the_profile_nobody_knows_the_bones(tmp_path: Path) -> None:
    path = _write(tmp_path)
    (tmp_path / PROFILE).unlink()
    with pytest.raises(InputError, match="how long the bones are"):
        list(read_inputs(path))


def test_poses_of_another_model_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "mano_hand_pose_trajectory.jsonl"
    path.write_text('{"timestamp_ns": 1, "hand_poses": {"0": {"pose": [0.1]}}}\n')
    with pytest.raises(InputError, match="model that may not be passed on"):
        list(read_inputs(path))


@pytest.mark.parametrize(
    ("name", "value"),
    [("landmark_rest_positions", [[0, 0, 0]]), ("joint_rotation_axes", [[1, 0, 0]]),
     ("landmark_rest_bone_indices", [[99, 0, 0]] * 21)],
)  # fmt: skip
def test_a_profile_of_another_hand_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    path = _write(tmp_path)
    profile = _profile()
    profile["hand_model"][name] = value
    (tmp_path / PROFILE).write_text(json.dumps(profile))
    with pytest.raises(InputError, match="profile"):
        list(read_inputs(path))
