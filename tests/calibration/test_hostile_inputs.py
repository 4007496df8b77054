"""Pairs, rests, boards, pictures and logs of strangers end in a sentence, within bounds."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from corporeal.calibration.board import Board
from corporeal.calibration.files import read_pose_pairs, read_static_poses
from corporeal.calibration.hand_eye import pose_matrix
from corporeal.calibration.verification import LoggedCheck, append, read_log
from corporeal.calibration.views import read_pictures
from corporeal.errors import CorporealError

HAND = pose_matrix([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]).tolist()
HEAD = "qw,qx,qy,qz,fx,fy,fz,tx,ty,tz\n"
CHECK = LoggedCheck("check", "2026-11-19T08:00:00+00:00", "cell@1.0.0", "anna", passed=True)
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 5\n%%EndComments\nshowpage\n"


def pictures_of(path: Path) -> list[Any]:
    return list(read_pictures(path))


def board(**changes: Any) -> Board:
    whole = {"document": "board", "name": "b", "version": "1.0.0", "pattern": "chessboard",
             "columns": 60, "rows": 60, "square_m": 0.02}  # fmt: skip
    return Board.model_validate({**whole, **changes})


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("a.csv", read_pose_pairs),
        ("a.csv", read_static_poses),
        ("a.png", pictures_of),
        ("a.mp4", pictures_of),
        ("a.jsonl", read_log),
        ("a.jsonl", lambda path: append(path, CHECK)),
    ],
)
@pytest.mark.parametrize("is_fifo", [True, False])
def test_a_fifo_and_a_device_are_not_waited_for(
    tmp_path: Path, name: str, read: Callable[[Path], object], is_fifo: bool
) -> None:
    path = tmp_path / name
    if is_fifo:
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(CorporealError, match="is a FIFO" if is_fifo else "is a device"):
        read(path)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ([[10**400] * 16, HAND], "effector holds 0 numbers"),
        ([[*[1.0] * 15, 1e300], HAND], "beyond a million"),
        ({"effector": HAND, "T_cam_target_rvec": ["a", 1, 2], "T_cam_target_tvec": [1, 2, 3]},
         "board holds 0 numbers"),
        ({"effector": HAND, "T_cam_target_rvec": [[1], [2, 3]], "T_cam_target_tvec": [1, 2, 3]},
         "board holds 0 numbers"),
        ({"effector": HAND, "T_cam_target_rvec": [1, 2], "T_cam_target_tvec": [1, 2, 3]},
         "board holds 0 numbers"),
        ({"effector": HAND, "T_cam_target_rvec": [1e300, 0, 0], "T_cam_target_tvec": [1, 2, 3]},
         "board holds 0 numbers"),
    ],
)  # fmt: skip
def test_numbers_that_are_no_pose_are_said(tmp_path: Path, entry: object, said: str) -> None:
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps([entry]))
    with pytest.raises(CorporealError, match=said):
        read_pose_pairs(path)


def test_more_pairs_and_rests_than_anyone_solves_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs.json").write_text(json.dumps([[HAND, HAND]] * 401))
    with pytest.raises(CorporealError, match="holds 401 pairs; expected 400 or fewer"):
        read_pose_pairs(tmp_path / "pairs.json")
    (tmp_path / "rests.csv").write_text(HEAD + "1,0,0,0,0,0,0,0,0,0\n" * 2001)
    with pytest.raises(CorporealError, match="more than 2000 rows"):
        read_static_poses(tmp_path / "rests.csv")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('"' + "1" * 200_000 + '"' + ",0" * 9, "field larger than field limit"),
        ("1,0,0,0,1e308,0,0,0,0,0", "fx, got '1e308'; expected a number"),
    ],
)
def test_a_table_with_absurd_fields_ends_in_a_sentence(tmp_path: Path, row: str, said: str) -> None:
    (tmp_path / "rests.csv").write_text(f"{HEAD}{row}\n")
    with pytest.raises(CorporealError, match=said):
        read_static_poses(tmp_path / "rests.csv")


def test_no_file_outside_a_folder_is_taken_in(tmp_path: Path) -> None:
    folder, secret = tmp_path / "given", tmp_path / "secret"
    folder.mkdir()
    secret.write_text(json.dumps({"effector": HAND, "board": HAND}))
    (folder / "a.json").symlink_to(secret)
    with pytest.raises(CorporealError, match="is a link out of"):
        read_pose_pairs(folder)
    (folder / "a.json").unlink()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "private.png")
    (folder / "a.png").symlink_to(tmp_path / "private.png")
    with pytest.raises(CorporealError, match="is a link out of"):
        pictures_of(folder)
    (folder / "cell.checks.jsonl").symlink_to(tmp_path / "profile")
    (tmp_path / "profile").write_text("export PATH\n")
    with pytest.raises(CorporealError, match="log of checks"):
        append(folder / "cell.checks.jsonl", CHECK)
    assert (tmp_path / "profile").read_text() == "export PATH\n"


def test_a_picture_is_given_to_no_program_beside_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import EpsImagePlugin

    asked: list[object] = []
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *given, **_: asked.append(given))
    (tmp_path / "a.png").write_bytes(EPS)
    with pytest.raises(CorporealError, match="is no picture"):
        pictures_of(tmp_path / "a.png")
    assert not asked


def test_a_picture_of_too_many_pixels_is_refused(tmp_path: Path) -> None:
    Image.new("1", (9000, 9000)).save(tmp_path / "a.png")
    with pytest.raises(CorporealError, match="9000 x 9000 pixels; expected 64 million or fewer"):
        pictures_of(tmp_path / "a.png")


def test_a_header_claims_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)).save(path)
    whole = path.read_bytes()
    # The chunk behind the head says that it has 4 GB.
    path.write_bytes(whole[:33] + b"\xff\x00\x24;IDAT" + whole[41:])
    tracemalloc.start()
    try:
        (picture,) = pictures_of(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
        assert picture.pixels.shape == (48, 64, 3)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("changed", [{"sigma_m": [0, 1, 1]}, {"turn_rad": [1e300, 0, 0]}])
def test_a_shift_that_no_marker_has_is_no_line_of_the_log(
    tmp_path: Path, changed: dict[str, object]
) -> None:
    three = [0.001, 0.001, 0.001]
    shift = {"marker": "m", "camera": "wrist", "turn_rad": three, "shift_m": three,
             "sigma_rad": three, "sigma_m": three, "limit_m": 0.003, "limit_rad": 0.02,
             "cause": "none"}  # fmt: skip
    line = {"what": "check", "at": "2026-11-19T08:00:00+00:00", "calibration": "cell@1.0.0",
            "who": "anna", "passed": True}  # fmt: skip
    path = tmp_path / "cell.checks.jsonl"
    path.write_text(json.dumps({**line, "shifts": [shift]}) + "\n")
    assert len(read_log(path)) == 1
    path.write_text(json.dumps({**line, "shifts": [{**shift, **changed}]}) + "\n\n")
    with pytest.raises(CorporealError, match="line 1 is no check"):
        read_log(path)


def test_a_board_is_of_a_size_that_can_be_printed() -> None:
    assert board().size_m == pytest.approx((1.2, 1.2))
    with pytest.raises(ValueError, match="120 m large"):
        board(square_m=2)
    with pytest.raises(ValueError, match="square_m"):
        board(square_m=1e-300)
