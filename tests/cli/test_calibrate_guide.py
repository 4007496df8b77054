"""`corporeal calibrate guide`: with a hand that follows, from a movie, again after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.calibration.test_guided_capture import BOARD
from tests.studio.simulated_hand import ALL_VIEWS, SimulatedHand, guide_of
from typer.testing import CliRunner

from corporeal.calibration.camera import CameraSettings
from corporeal.calibration.guidance import draft_of, read_draft
from corporeal.cli.program import program
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration
from corporeal.studio.guide_feed import GuideFeed

RUNNER = CliRunner()
INVERTED = """
document: board
name: caliscope
version: 1.0.0
pattern: charuco
columns: 4
rows: 5
square_m: 0.054
marker_m: 0.0405
dictionary: DICT_4X4_1000
inverted: true
"""


def refused(*words: object) -> str:
    done = RUNNER.invoke(program(), ["calibrate", "guide", *map(str, words)])
    assert isinstance(done.exception, CorporealError), done.output
    return str(done.exception)


@pytest.mark.slow
def test_two_cameras_one_after_the_other_and_on_after_a_kill(tmp_path: Path) -> None:
    out, feed = tmp_path / "cell.yaml", GuideFeed()
    hand = SimulatedHand()
    hand.views_wanted = ALL_VIEWS

    def end_after_two(line: str) -> None:
        if line.startswith("view 2"):
            first.stopping.set()

    first = guide_of(hand, out, feed, "left", goal=0.5, say=end_after_two)
    (left,) = first.run()
    assert not left.is_written
    assert not out.exists()
    size, model = (640, 480), CameraSettings().model
    assert len(read_draft(out, "left", BOARD, model, size)) == 2
    lines: list[str] = []
    second = guide_of(hand, out, feed, "left", "right", goal=0.5, say=lines.append)
    results = second.run()
    assert [(each.camera, each.is_good) for each in results] == [("left", True), ("right", True)]
    assert "left: 2 views of an earlier capture" in lines
    assert [camera.name for camera in Calibration.load(out).cameras] == ["left", "right"]
    assert not draft_of(out).exists()


@pytest.mark.slow
def test_a_recorded_movie_that_shows_too_little_ends_with_1_and_keeps_its_views(
    shared_data: Path, tmp_path: Path
) -> None:
    folder = shared_data / "calib" / "multicam_charuco" / "calibration" / "extrinsic"
    board, out = tmp_path / "board.yaml", tmp_path / "cell.yaml"
    board.write_text(INVERTED)
    done = RUNNER.invoke(program(), [
        "calibrate", "guide", "--driver", "cam_0=video_file",
        "--set", f"cam_0.path={folder / 'cam_0.mp4'}", "--board", str(board),
        "-o", str(out), "--no-page", "--json",
    ])  # fmt: skip
    assert done.exit_code == 1, done.output
    told = json.loads(done.stdout)["cameras"]
    assert [camera["camera"] for camera in told] == ["cam_0"]
    assert all(camera["views"] >= 4 and not camera["is_written"] for camera in told)
    assert not out.exists()
    assert set(json.loads(draft_of(out).read_text())["cameras"]) == {"cam_0"}


def test_what_cannot_be_guided_is_refused_before_anybody_holds_a_board(tmp_path: Path) -> None:
    assert "expected a name that ends in .yaml" in refused("-o", tmp_path / "cell.json")
    assert "a folder that is there" in refused("-o", tmp_path / "none" / "cell.yaml")
    out = tmp_path / "cell.yaml"
    assert "driver" in refused("--driver", "telescope", "-o", out)
    assert "twice" in refused("--driver", "camera", "--driver", "camera", "-o", out)
    assert "lens" in refused("--lens", "pinhol", "-o", out)
