"""A simulated station is calibrated from its recordings alone, and what it says holds the truth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from tests.cli.test_calibrate_verify import refused, run

from corporeal.calibration.board import open_board
from corporeal.calibration.detection import BoardView, detect
from corporeal.calibration.guidance import visible_corners
from corporeal.calibration.hand_eye import inverse, pose_matrix
from corporeal.calibration.lens import project
from corporeal.calibration.rig import (
    KnownLens,
    RigRecordings,
    calibrate_rig,
    find_recordings,
    simulated_rig,
    solve_cameras,
    true_calibration,
    write_looks,
    write_recordings,
)
from corporeal.calibration.rig.picture import PlacedBoard, take_picture
from corporeal.calibration.rig.simulated import SimulatedRig
from corporeal.calibration.rig.station import RigSolution
from corporeal.errors import CorporealError
from corporeal.geometry import Array, rotation_vectors
from corporeal.protocol import Calibration

BOARD = open_board("charuco_a4")
WHOLE = simulated_rig(BOARD, 3)
EYES = replace(WHOLE, cameras=WHOLE.cameras[:2])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of the two eyes of a station, and of its force sensor."""
    folder = tmp_path_factory.mktemp("station") / "practice"
    write_recordings(EYES, folder, seed=3, views=5, hands=7)
    return folder


@pytest.fixture(scope="module")
def solved(recorded: Path) -> RigSolution:
    document, folder = find_recordings(recorded)
    return calibrate_rig(document, folder)


def off(rig: SimulatedRig, name: str, pose: Array) -> Array:
    """Turn and shift (6,) between where a camera is and where it was solved to be."""
    between = np.linalg.inv(rig.camera(name).pose) @ pose
    return np.concatenate([rotation_vectors(between[None, :3, :3])[0], between[:3, 3]])


@pytest.mark.parametrize("name", ["charuco_a4", "chessboard_a4"])
def test_corners_of_a_picture_are_where_the_lens_puts_them(name: str) -> None:
    board, lens = open_board(name), WHOLE.cameras[0].lens
    placed = pose_matrix([0.3, -0.4, 0.2], [-0.1, -0.08, 0.45])
    picture = take_picture(lens, [PlacedBoard(board, placed)], np.random.default_rng(1))
    view = detect(picture, board)
    assert view is not None
    assert len(view) > 0.8 * board.corner_count
    true = project(lens, board.points[view.corners] @ placed[:3, :3].T + placed[:3, 3])
    assert np.sqrt(((view.pixels - true) ** 2).mean()) < 0.1
    assert np.abs((view.pixels - true).mean(axis=0)).max() < 0.03


def test_a_station_comes_back_within_what_it_says_of_itself(solved: RigSolution) -> None:
    assert solved.problems() == []
    for part in solved.cameras:
        assert part.pose is not None
        assert part.sigma is not None
        scaled = off(EYES, part.name, part.pose) / part.sigma
        assert np.sqrt((scaled**2).mean()) < 2.5
        assert np.linalg.norm(part.sigma[3:]) < 0.001
    assert [part.frame for part in solved.cameras] == ["world", "world"]
    (force,) = solved.forces
    assert force.solution.mass_kg == pytest.approx(EYES.tool.mass_kg, rel=0.005)


def test_the_command_writes_document_and_report(recorded: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "cell.yaml", tmp_path / "rig.pdf"
    said = json.loads(run("rig", recorded, "-o", out, "--report", report, "--json"))
    assert said["is_good"]
    document = Calibration.load(out)
    assert [camera.name for camera in document.cameras] == ["head_left", "head_right"]
    assert all(camera.xyz and camera.position_sigma_m for camera in document.cameras)
    assert document.force_sensors
    assert report.read_bytes().startswith(b"%PDF")
    written = out.read_bytes()
    strict = run("rig", recorded, "-o", out, "--max-position-mm", 0.001, code=1)
    assert "its place is known to" in strict
    assert out.read_bytes() == written


def _cell(*cameras: dict[str, object]) -> RigRecordings:
    return RigRecordings.model_validate({
        "document": "recordings", "name": "cell", "version": "1.0.0", "board": "charuco_a4",
        "cameras": [{"pictures": "lens", **camera} for camera in cameras],
        "force_sensors": [{"name": "wrench", "rests": "rests.csv"}],
    })  # fmt: skip


def _beside(name: str, other: str) -> dict[str, object]:
    return {"name": name, "beside": {"camera": other, "pictures": "a", "others": "b"}}


def test_a_camera_beside_another_waits_for_its_place() -> None:
    cell = _cell(_beside("third", "second"), _beside("second", "first"), {"name": "first"})
    assert [camera.name for camera in cell.cameras_beside()] == ["second", "third"]
    for cameras, said in (
        ((_beside("first", "wrench"),), "'first' is beside 'wrench'; expected another camera"),
        ((_beside("first", "first"),), "expected another camera"),
        ((_beside("first", "second"), _beside("second", "first")), "in a circle"),
    ):
        with pytest.raises(ValidationError, match=said):
            _cell(*cameras)


def test_recordings_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorporealError, match=r"recordings.yaml does not exist"):
        find_recordings(tmp_path)
    assert "--bump, got no --look" in refused("simulate", tmp_path, "--bump", "a=1")
    assert "CAMERA=MM" in refused("simulate", tmp_path, "--look", "x", "--bump", "a=much")


def test_pictures_of_a_hand_give_a_camera_and_need_its_lens(recorded: Path, tmp_path: Path) -> None:
    pictures, poses = recorded / "head_left" / "hand", recorded / "head_left" / "hand.csv"
    given = ["hand-eye", pictures, "--poses", poses, "--mount", "to-hand",
             "--board", recorded / "board.yaml", "--name", "head_left"]  # fmt: skip
    assert "got no lens" in refused(*given, "-o", tmp_path / "none.yaml")
    out = tmp_path / "cell.yaml"
    truth = Calibration.load(recorded / "truth.yaml")
    out.write_text((recorded / "truth.yaml").read_text())
    picture = tmp_path / "hand.png"
    said = json.loads(run(*given, "-o", out, "--report", picture, "--json"))
    error = off(EYES, "head_left", np.array(said["pose"]))
    assert np.linalg.norm(error[3:]) < 0.0015
    assert picture.exists()
    lenses = {camera.name: camera.focal_px for camera in Calibration.load(out).cameras}
    assert lenses == {camera.name: camera.focal_px for camera in truth.cameras}


def test_a_bumped_camera_sees_the_markers_elsewhere(tmp_path: Path) -> None:
    front = replace(WHOLE, cameras=WHOLE.cameras[2:3])
    (still,) = write_looks(front, tmp_path, seed=1)
    (bumped,) = write_looks(front.bumped("external_front", 0.004), tmp_path, seed=2, name="later")
    document = tmp_path / "cell.yaml"
    truth = true_calibration(front)
    values = truth.model_dump(mode="json", exclude_none=True)
    document.write_text(json.dumps(values))
    for marker in ("marker_left", "marker_right"):
        run("reference", still, "-c", document, "--marker", marker,
            "--board", tmp_path / f"{marker}.yaml", "--frames", 8)  # fmt: skip
    verify = ("verify", "-c", document, "--log-only", "--json")
    assert json.loads(run(*verify, still))["passed"]
    said = json.loads(run(*verify, bumped, code=1))
    assert {marker["cause"] for marker in said["markers"]} == {"camera"}


def test_cameras_with_one_board_find_each_other() -> None:
    rng = np.random.default_rng(4)
    names = ("head_left", "head_right", "external_front")
    hands = EYES.hands("head_left", 10, rng)
    views: dict[str, list[BoardView]] = {name: [] for name in names}
    for number, hand in enumerate(hands):
        for name in names:
            camera, placed = WHOLE.camera(name), WHOLE.seen_board(name, hand)
            flat = np.concatenate([rotation_vectors(placed[None, :3, :3])[0], placed[:3, 3]])
            corners = visible_corners(camera.lens, BOARD, flat)
            if len(corners) < 8:
                continue
            spots = BOARD.points[corners] @ placed[:3, :3].T + placed[:3, 3]
            pixels = project(camera.lens, spots) + rng.normal(0, 0.2, (len(corners), 2))
            views[name].append(BoardView(str(number), corners, pixels))
    lenses = {name: KnownLens(WHOLE.camera(name).lens, 0.2) for name in names}
    found = solve_cameras({name: each for name, each in views.items() if len(each) > 2}, lenses,
                          BOARD)  # fmt: skip
    assert "head_right" in found.poses
    for name, pose in found.poses.items():
        true = inverse(WHOLE.camera("head_left").pose[None])[0] @ WHOLE.camera(name).pose
        sigma = np.sqrt(np.diag(found.covariance[name]))
        between = np.linalg.inv(true) @ pose
        error = np.concatenate([rotation_vectors(between[None, :3, :3])[0], between[:3, 3]])
        assert (np.abs(error) <= 4 * sigma + 1e-9).all()
    with pytest.raises(CorporealError, match="Pictures of one moment have one name"):
        solve_cameras({"head_left": views["head_left"], "head_right": []}, lenses, BOARD)
