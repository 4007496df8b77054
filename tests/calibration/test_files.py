"""Pairs and rests come from files of several kinds; what is wrong is said in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corporeal.calibration.files import read_pose_pairs, read_static_poses
from corporeal.calibration.hand_eye import pose_matrix
from corporeal.errors import CorporealError

HAND = pose_matrix([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
SEEN = pose_matrix([3.0, 0.1, 0.0], [0.0, 0.1, 0.5])


def test_one_pair_written_in_five_ways_is_the_same_pair(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps([[HAND.tolist(), SEEN.tolist()]]))
    entry = {"effector": HAND.ravel().tolist(), "board": SEEN.ravel().tolist()}
    (tmp_path / "named.json").write_text(json.dumps({"pairs": [entry]}))
    folder = tmp_path / "folder"
    folder.mkdir()
    other = {"O_T_EE": HAND.T.ravel().tolist(), "T_cam_target_rvec": [[3.0], [0.1], [0.0]],
             "T_cam_target_tvec": [[0.0], [0.1], [0.5]]}  # fmt: skip
    (folder / "pose_1.json").write_text(json.dumps(other))
    (folder / "result.json").write_text('{"xyz": [0, 0, 0]}')
    for path in (tmp_path / "list.json", tmp_path / "named.json", folder):
        pairs = read_pose_pairs(path)
        assert pairs.effectors[0] == pytest.approx(HAND)
        assert pairs.boards[0] == pytest.approx(SEEN)


def test_a_table_needs_its_columns(tmp_path: Path) -> None:
    columns = [f"{which}_{part}" for which in ("effector", "board")
               for part in ("x", "y", "z", "qw", "qx", "qy", "qz")]  # fmt: skip
    row = "0.1,0.2,0.3,1,0,0,0,0,0,0.5,0,1,0,0"
    (tmp_path / "pairs.csv").write_text(f"{','.join(columns)}\n{row}\n")
    pairs = read_pose_pairs(tmp_path / "pairs.csv")
    assert pairs.effectors[0, :3, 3] == pytest.approx([0.1, 0.2, 0.3])
    assert pairs.boards[0, 1, 1] == -1
    (tmp_path / "short.csv").write_text("effector_x\n1\n")
    with pytest.raises(CorporealError, match="has no column effector_y"):
        read_pose_pairs(tmp_path / "short.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[[1,2],[3]]]", "effector holds 2 numbers; expected the 16"),
        ("[[1, 2]]", "effector holds 1 numbers"),
        ("{}", "holds no list of pairs"),
        (json.dumps([[(2 * HAND).tolist(), SEEN.tolist()]]), "is no rotation"),
    ],
)
def test_what_is_no_pair_is_said(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(CorporealError, match=said):
        read_pose_pairs(tmp_path / "x.json")


def test_rests_are_read_and_bad_numbers_named(tmp_path: Path) -> None:
    path = tmp_path / "rests.csv"
    head = "name,qw,qx,qy,qz,fx,fy,fz,tx,ty,tz\n"
    path.write_text(f"{head}down,1,0,0,0,0,0,-8,0.1,0,0\nside,0.7071,0.7071,0,0,0,8,0,0,0,0\n")
    poses = read_static_poses(path)
    assert poses.names == ("down", "side")
    assert poses.rotations[1] @ [0, 0, 1] == pytest.approx([0, -1, 0], abs=1e-4)
    assert poses.forces[1] == pytest.approx([0, 8, 0])
    path.write_text(f"{head}down,1,0,0,0,0,0,nan,0,0,0\n")
    with pytest.raises(CorporealError, match="fz, got 'nan'; expected a number"):
        read_static_poses(path)
    path.write_text(f"{head}down,2,0,0,0,0,0,1,0,0,0\n")
    with pytest.raises(CorporealError, match=r"row 1: the quaternion has length 2\.000"):
        read_static_poses(path)
    assert np.isfinite(poses.torques).all()
