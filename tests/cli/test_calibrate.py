"""`corporeal calibrate` on photographs, poses and rests that people have."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.calibration.marker_pictures import draw, pose
from tests.calibration.test_force import rests
from tests.calibration.test_hand_eye import views_from_above
from typer.testing import CliRunner, Result

from corporeal.calibration.board import open_board
from corporeal.calibration.force import StaticPoses
from corporeal.calibration.hand_eye import PosePairs
from corporeal.cli.program import program
from corporeal.errors import CorporealError
from corporeal.geometry import quaternion_from_matrix
from corporeal.protocol import Calibration

REAL = Path("../shared/data/calib").resolve()
CHESSBOARD = """
document: board
name: photographed
version: 1.0.0
pattern: chessboard
columns: 10
rows: 7
square_m: 0.025
"""


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def test_a_board_is_written_as_a_page(tmp_path: Path) -> None:
    result = _run("calibrate", "board", "charuco_a4", "-o", tmp_path / "b.pdf", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["page"] == "A4"
    assert (tmp_path / "b.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_photographs_that_miss_the_corners_are_good_in_the_middle_only(tmp_path: Path) -> None:
    if not REAL.is_dir():
        pytest.skip("../shared/data/calib is not here")
    (tmp_path / "board.yaml").write_text(CHESSBOARD)
    left = tmp_path / "left"
    left.mkdir()
    for path in (REAL / "opencv_chessboard_stereo").glob("left[01]*.jpg"):
        (left / path.name).write_bytes(path.read_bytes())
    station = tmp_path / "cell.yaml"
    asked = ("calibrate", "camera", left, "--board", tmp_path / "board.yaml", "-o", station)
    result = _run(*asked, "--report", tmp_path / "left.png", "--json")
    assert result.exit_code == 1, result.output
    values = json.loads(result.stdout)
    assert values["rms_px"] < 0.3
    assert values["uncertainty_px"]["mean"] > 0.4
    assert len(values["next"]) == 3
    assert values["halves"]["is_explained"]
    assert not values["is_written"]
    assert not station.exists()
    assert _run(*asked, "--max-uncertainty", "1").exit_code == 0
    poses = REAL / "handeye_franka_charuco"
    result = _run("calibrate", "hand-eye", poses, "--name", "left", "-o", station, "--json",
                  "--keep-anyway")  # fmt: skip
    assert json.loads(result.stdout)["left_out"]["rms_m"] < 0.0042
    kept = Calibration.load(station)
    (camera,) = kept.cameras
    assert kept.version == "1.0.1"
    assert camera.uncertainty_px is not None
    assert camera.xyz is not None
    assert camera.position_sigma_m is not None


def test_a_mount_that_is_the_other_is_said_and_ends_with_1() -> None:
    if not REAL.is_dir():
        pytest.skip("../shared/data/calib is not here")
    pairs = next((REAL / "handeye_poses_moveit").rglob("pose_samples.json"))
    result = _run("calibrate", "hand-eye", pairs)
    assert result.exit_code == 1
    assert "--mount to-hand" in result.output


def _write_pairs(path: Path, pairs: PosePairs) -> None:
    both = zip(pairs.effectors.tolist(), pairs.boards.tolist(), strict=True)
    path.write_text(json.dumps(list(both)))


def test_a_result_with_a_mistake_leaves_a_good_document_alone(tmp_path: Path) -> None:
    pairs = views_from_above(np.random.default_rng(1), 8)
    table, station = tmp_path / "pairs.json", tmp_path / "cell.yaml"
    _write_pairs(table, pairs)
    asked = ("calibrate", "hand-eye", table, "--name", "wrist", "-o", station)
    result = _run(*asked, "--max-position-mm", "50", "--max-rotation-deg", "5")
    assert result.exit_code == 0, result.output
    assert "about an axis across that; smallest singular value" in " ".join(result.output.split())
    good = station.read_bytes()
    new = tmp_path / "new.json"
    _write_pairs(new, views_from_above(np.random.default_rng(2), 6))
    verify = ("calibrate", "hand-eye", new, "--name", "wrist", "--verify", station)
    assert _run(*verify, "--max-position-mm", "9", "--max-rotation-deg", "2").exit_code == 0
    failed = _run(*verify, "--max-position-mm", "0.01", "--json")
    assert failed.exit_code == 1
    values = json.loads(failed.stdout)
    assert len(values["position_m"]) == 6
    assert 0 < values["position_sigma_m"] < 0.05
    result = _run(*asked, "--mount", "to-hand")
    assert result.exit_code == 1
    assert "--mount in-hand" in result.output
    assert "stays as it was; --keep-anyway" in result.output.replace("\n", " ")
    assert station.read_bytes() == good
    assert _run(*asked, "--mount", "to-hand", "--keep-anyway").exit_code == 1
    assert station.read_bytes() != good


def _write_rests(path: Path, poses: StaticPoses) -> Path:
    rows = ["qw,qx,qy,qz,fx,fy,fz,tx,ty,tz"]
    for rotation, force, torque in zip(poses.rotations, poses.forces, poses.torques, strict=True):
        numbers = [*quaternion_from_matrix(rotation), *force, *torque]
        rows.append(",".join(f"{number:.9f}" for number in numbers))
    path.write_text("\n".join(rows))
    return path


def test_a_rest_that_does_not_belong_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    poses = rests(np.random.default_rng(0))
    poses.forces[4] += [0, 3, 0]
    table, station = _write_rests(tmp_path / "rests.csv", poses), tmp_path / "cell.yaml"
    result = _run("calibrate", "force", table, "-o", station, "--json")
    assert result.exit_code == 1
    values = json.loads(result.stdout)
    (wrong,) = values["wrong_rests"]
    assert wrong["name"] == "5"
    assert wrong["force_n"] == pytest.approx(3, abs=0.4)
    assert not station.exists()
    assert "rest 5 does not belong" in _run("calibrate", "force", table).output


def test_rests_of_a_force_sensor_go_into_the_document(tmp_path: Path) -> None:
    poses = rests(np.random.default_rng(0))
    _write_rests(tmp_path / "rests.csv", poses)
    result = _run("calibrate", "force", tmp_path / "rests.csv", "--name", "right_wrist_wrench",
                  "-o", tmp_path / "cell.yaml")  # fmt: skip
    assert result.exit_code == 0, result.output
    sensors = Calibration.load(tmp_path / "cell.yaml").force_sensors
    assert sensors is not None
    assert sensors[0].mass_kg == pytest.approx(0.8, rel=0.02)
    assert sensors[0].name == "right_wrist_wrench"


def test_what_cannot_be_calibrated_is_said_in_a_sentence(tmp_path: Path) -> None:
    for arguments, said in (
        (("camera", tmp_path), "holds no pictures"),
        (("camera", tmp_path / "x.xyz"), "expected a folder of pictures, a movie"),
        (("hand-eye", tmp_path), "holds no pairs"),
        (("force", tmp_path / "x.json"), r"expected \.csv"),
        (("board", "charuco_a5"), "charuco_a4"),
    ):
        result = _run("calibrate", *arguments)
        with pytest.raises(CorporealError, match=said):
            raise result.exception  # type: ignore[misc]


def _views_of(folder: Path, sides: int, seed: int) -> None:
    """Pictures of the marker's board from several sides, as one camera sees them."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for number in range(sides):
        turn = ((0.6, 0, 0), (-0.6, 0, 0), (0, 0.6, 0.5), (0, -0.6, 0))[number % 4]
        x, y = ((-0.07, -0.05), (0.07, -0.05), (0.0, 0.05))[number % 3]
        shown = draw([(open_board("charuco_a4"), pose(x, y, 0.35, turn))], rng)
        Image.fromarray(shown).save(folder / f"{number}.png")


@pytest.mark.slow
def test_a_folder_of_cameras_becomes_one_document(tmp_path: Path) -> None:
    for number, name in enumerate(("left", "right")):
        _views_of(tmp_path / "cell" / name, 6, number)
    asked = ("calibrate", "camera", tmp_path / "cell", "--max-uncertainty", "50", "--max-rms", "5")
    station = tmp_path / "cell.yaml"
    result = _run(*asked, "-o", station, "--report", tmp_path / "lens.png", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [each["camera"]["name"] for each in told["cameras"]] == ["left", "right"]
    kept = Calibration.load(station).cameras
    assert [camera.name for camera in kept] == ["left", "right"]
    for camera in kept:
        assert camera.focal_px is not None
        assert camera.focal_px[0] == pytest.approx(600, rel=0.05)
    assert (tmp_path / "lens_left.png").is_file()
    assert (tmp_path / "lens_right.png").is_file()
    refused = _run(*asked, "--name", "head")
    assert "--name, got head for 2 cameras (left, right)" in str(refused.exception)
    # A camera that cannot be solved keeps the other out as well: no half of a document is written.
    for path in sorted((tmp_path / "cell" / "right").iterdir())[2:]:
        path.unlink()
    refused = _run(*asked, "-o", tmp_path / "new.yaml")
    assert "right: 2 of 2 pictures show charuco_a4" in str(refused.exception)
    assert not (tmp_path / "new.yaml").exists()


def test_a_sensor_that_creeps_while_it_stands_ends_with_1(tmp_path: Path) -> None:
    table = tmp_path / "still.csv"
    rng = np.random.default_rng(3)
    rows = [f"{t:.2f},{3 + 0.01 * t + rng.normal(0, 0.05):.4f},-8,{rng.normal(0, 0.05):.4f}"
            for t in np.arange(0, 40, 0.05)]  # fmt: skip
    table.write_text("\n".join(["t,fx,fy,fz", *rows]), "utf-8")
    result = _run("calibrate", "force", "--standing", table)
    assert result.exit_code == 1
    assert "it creeps, certain after" in result.output
    lax = ("calibrate", "force", "--standing", table, "--max-drift-n", "3", "--json")
    result = _run(*lax)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["drift_n"][0] == pytest.approx(0.4, abs=0.05)
    table.write_text("t,fx,fy,fz\n1,0,0,0\n0,0,0,0\n", "utf-8")
    assert "its times go back" in str(_run(*lax).exception)
