"""Keypoints of several calibrated cameras meet in space; what does not agree is left out."""

from __future__ import annotations

import csv
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from corporeal.calibration.verification import pixels_of
from corporeal.cli.program import program
from corporeal.geometry import Array, rpy_from_matrix
from corporeal.protocol.calibration import CameraCalibration
from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.person.keypoint_layouts import LAYOUTS
from corporeal.retargeting.person.picture_keypoints import (
    PictureKeypoints,
    read_picture_keypoints,
)
from corporeal.retargeting.person.triangulation import triangulate
from corporeal.retargeting.readers import keypoints

NAMES = LAYOUTS["coco17"]


def _camera(name: str, angle: float) -> CameraCalibration:
    """A camera 4 m away at the height of a chest, looking at the middle."""
    back = np.array([np.cos(angle), np.sin(angle), 0.0])
    turn = np.stack([np.cross([0, 0, 1.0], back), [0, 0, -1.0], -back], axis=1)
    turn[:, 0] = np.cross(turn[:, 1], turn[:, 2])
    return CameraCalibration.model_validate({
        "name": name, "width": 1280, "height": 720, "focal_px": [900, 900],
        "centre_px": [639.5, 359.5], "distortion": [-0.2, 0.05, 0.001, -0.001, 0.0],
        "frame": "world", "xyz": (4 * back + [0, 0, 1.0]).tolist(),
        "rpy": rpy_from_matrix(turn).tolist(),
    })  # fmt: skip


def _person(frames: int = 40) -> Array:
    """Seventeen points (T, 17, 3) of somebody who walks about."""
    rng = np.random.default_rng(2)
    rest = rng.normal((0, 0, 1.0), (0.25, 0.25, 0.45), (17, 3))
    sway = 0.3 * np.sin(np.arange(frames)[:, None, None] / 9 + rng.uniform(0, 6, (17, 3)))
    return np.asarray(rest + 0.4 * sway)


def _seen(
    cameras: dict[str, CameraCalibration], points: Array, noise_px: float
) -> dict[str, PictureKeypoints]:
    rng = np.random.default_rng(4)
    out = {}
    for name, camera in cameras.items():
        pixels = pixels_of(camera, points.reshape(-1, 3)).reshape(*points.shape[:2], 2)
        pixels = pixels + rng.normal(0, noise_px, pixels.shape)
        out[name] = PictureKeypoints(NAMES, pixels, np.full(pixels.shape[:2], 0.9))
    return out


@pytest.fixture(scope="module")
def cameras() -> dict[str, CameraCalibration]:
    return {f"cam{k}": _camera(f"cam{k}", angle) for k, angle in enumerate((0.0, 1.4, 2.9, 4.3))}


def test_points_are_where_the_rays_meet(cameras: dict[str, CameraCalibration]) -> None:
    points = _person()
    made = triangulate(cameras, _seen(cameras, points, 0.0))
    assert np.abs(made.points - points).max() < 1e-6
    noisy = triangulate(cameras, _seen(cameras, points, 2.0))
    assert np.median(np.linalg.norm(noisy.points - points, axis=2)) < 0.01
    assert noisy.known_share == 1.0


def test_a_camera_that_saw_another_person_is_left_out(
    cameras: dict[str, CameraCalibration],
) -> None:
    points = _person()
    seen = _seen(cameras, points, 1.0)
    wrong = seen["cam1"].pixels.copy()
    wrong[10:20] += 150.0
    seen["cam1"] = replace(seen["cam1"], pixels=wrong)
    made = triangulate(cameras, seen)
    assert np.linalg.norm(made.points - points, axis=2).max() < 0.05
    assert made.dropped["cam1"] == pytest.approx(0.25, abs=0.02)
    assert max(made.dropped[name] for name in ("cam0", "cam2", "cam3")) < 0.02


def test_what_one_camera_sees_alone_is_not_made_up(cameras: dict[str, CameraCalibration]) -> None:
    seen = _seen(cameras, _person(), 0.5)
    for name in ("cam1", "cam2", "cam3"):
        lost = seen[name].pixels.copy()
        lost[5:9, 3] = np.nan
        seen[name] = replace(seen[name], pixels=lost)
    made = triangulate(cameras, seen)
    assert np.isnan(made.points[5:9, 3]).all()
    assert (made.confidence[5:9, 3] == 0).all()
    assert np.isfinite(made.points[9:, 3]).all()


def test_two_cameras_that_disagree_tell_nothing(cameras: dict[str, CameraCalibration]) -> None:
    pair = {name: cameras[name] for name in ("cam0", "cam1")}
    seen = _seen(pair, _person(), 0.5)
    seen["cam0"] = replace(seen["cam0"], pixels=seen["cam0"].pixels + np.array([0.0, 120.0]))
    assert triangulate(pair, seen).known_share < 0.05


def test_cameras_without_a_common_frame_are_refused(
    cameras: dict[str, CameraCalibration],
) -> None:
    seen = _seen(cameras, _person(), 0.5)
    moved = {**cameras, "cam0": cameras["cam0"].model_copy(update={"frame": "torso"})}
    with pytest.raises(MotionError, match="torso, world"):
        triangulate(moved, seen)
    with pytest.raises(MotionError, match="1 camera"):
        triangulate(cameras, {"cam0": seen["cam0"]})


def test_real_corners_of_a_board_have_their_distances(shared_data: Path) -> None:
    folder = shared_data / "calib/multicam_charuco"
    array = tomllib.loads((folder / "camera_array.toml").read_text())["cameras"]
    cameras = {name: _real_camera(name, array[name]) for name in ("0", "1", "2", "3")}
    with (folder / "calibration/extrinsic/CHARUCO/xy_CHARUCO.csv").open() as file:
        rows = list(csv.DictReader(file))
    frames = sorted({int(row["sync_index"]) for row in rows})
    count = 1 + max(int(row["keypoint_id"]) for row in rows)
    names = tuple(f"corner {number}" for number in range(count))
    board = np.full((count, 3), np.nan)
    pixels = {name: np.full((len(frames), count, 2), np.nan) for name in cameras}
    for row in rows:
        number = int(row["keypoint_id"])
        board[number] = [float(row[f"obj_loc_{axis}"]) for axis in "xyz"]
        place = frames.index(int(row["sync_index"]))
        pixels[row["cam_id"]][place, number] = float(row["img_loc_x"]), float(row["img_loc_y"])
    seen = {name: PictureKeypoints(names, each, np.isfinite(each[..., 0]).astype(float))
            for name, each in pixels.items()}  # fmt: skip
    made = triangulate(cameras, seen)
    apart = np.linalg.norm(made.points[:, :, None] - made.points[:, None], axis=3)
    true = np.linalg.norm(board[:, None] - board[None], axis=2)
    near = (true > 0.05) & (true < 0.06)
    known = apart[:, near][np.isfinite(apart[:, near])]
    assert len(known) > 1000
    # The authors' cameras know the square of 54 mm to a millimetre or two.
    assert np.median(known) == pytest.approx(0.054, abs=0.001)
    assert np.percentile(np.abs(known - 0.054), 90) < 0.004
    assert max(made.off_px.values()) < 3.0


def _real_camera(name: str, values: dict[str, Any]) -> CameraCalibration:
    turn = np.array(values["rotation"])
    matrix = np.array(values["matrix"])
    return CameraCalibration.model_validate({
        "name": f"cam_{name}", "width": values["size"][0], "height": values["size"][1],
        "focal_px": [matrix[0, 0], matrix[1, 1]], "centre_px": [matrix[0, 2], matrix[1, 2]],
        "distortion": values["distortions"], "frame": "world",
        "xyz": (-turn.T @ values["translation"]).tolist(), "rpy": rpy_from_matrix(turn.T).tolist(),
    })  # fmt: skip


def test_openpose_and_coco_are_read_and_retargeting_reads_the_result(
    cameras: dict[str, CameraCalibration], tmp_path: Path
) -> None:
    seen = _seen(cameras, _person(), 0.5)
    given = []
    for number, (name, each) in enumerate(seen.items()):
        rows = np.concatenate([each.pixels, each.confidence[..., None]], axis=2)
        if number % 2:
            results = [{"image_id": row, "keypoints": values.ravel().tolist(), "score": 0.9}
                       for row, values in enumerate(rows)]  # fmt: skip
            (tmp_path / f"{name}.json").write_text(json.dumps(results))
            given.append(f"{name}={tmp_path / name}.json")
            continue
        folder = tmp_path / name
        folder.mkdir()
        for row, values in enumerate(rows):
            people = [{"pose_keypoints_2d": [0.0] * 51},
                      {"pose_keypoints_2d": values.ravel().tolist()}]  # fmt: skip
            (folder / f"v_{row:012d}_keypoints.json").write_text(json.dumps({"people": people}))
        given.append(f"{name}={folder}")
    document = {"document": "calibration", "name": "lab", "version": "1.0.0",
                "measured": "2026-11-19",
                "cameras": [each.model_dump(mode="json", exclude_none=True)
                            for each in cameras.values()]}  # fmt: skip
    (tmp_path / "lab.yaml").write_text(json.dumps(document))
    out = tmp_path / "person.json"
    arguments = ["triangulate", *given, "--calibration", str(tmp_path / "lab.yaml"),
                 "-o", str(out), "--json"]  # fmt: skip
    refused = CliRunner().invoke(program(), arguments)
    assert "one rate" in str(refused.exception)
    result = CliRunner().invoke(program(), [*arguments, "--fps", "30"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["known_share"] == 1.0
    assert max(said["off_px"].values()) < 1.5
    assert keypoints.recognises(out)
    made = json.loads(out.read_text())
    assert made["fps"] == 30
    assert tuple(made["names"]) == NAMES
    points = np.array(made["frames"])[..., :3]
    assert np.abs(points - _person()).max() < 0.02


@pytest.mark.parametrize("text", ["[]", "{}", '[{"image_id": "a", "keypoints": []}]', "[1]", "{",
                                  '{"names": ["a"], "frames": [[[1]]]}',
                                  '[{"image_id": 0, "keypoints": [1, 2, 3]}]'])  # fmt: skip
def test_what_is_no_keypoints_ends_in_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(MotionError, match=r"keypoints .*expected a folder"):
        read_picture_keypoints(tmp_path / "a.json")
    (tmp_path / "empty").mkdir(exist_ok=True)
    with pytest.raises(MotionError, match="0 files"):
        read_picture_keypoints(tmp_path / "empty")
