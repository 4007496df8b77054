"""The marker checks of a session: made while it is recorded, and what a failed one stops."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from tests.calibration.marker_pictures import LEFT, draw, pose, station, write_folder
from typer.testing import CliRunner

from corporeal.calibration.verification import LoggedCheck, append, log_of, read_log
from corporeal.catalog.episodes import StationCheck, list_halts, take_check
from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.cli.check_notes import moment_now
from corporeal.cli.program import program
from corporeal.cli.session_checks import SessionChecks
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration

RUNNER = CliRunner()
STILL = [(LEFT, pose(-0.02, 0.0, 0.45))]
BUMP = np.eye(4)
BUMP[0, 3] = 0.005
BUMPED = [(board, BUMP @ place) for board, place in STILL]


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[NDArray[np.uint8]]]:
    """Pictures of the marker where it should be, and from a camera that was bumped."""
    rng = np.random.default_rng(5)
    return {"still": [draw(STILL, rng) for _ in range(4)],
            "bumped": [draw(BUMPED, rng) for _ in range(4)]}  # fmt: skip


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The document of a station with one marker, as text."""
    folder = tmp_path_factory.mktemp("reference")
    path = folder / "cell.yaml"
    path.write_text(yaml.safe_dump(station().model_dump(mode="json", exclude_none=True)))
    write_folder(folder / "first", STILL, seed=1)
    done = RUNNER.invoke(program(), ["calibrate", "reference", str(folder / "first"), "-c",
                                     str(path), "--frames", "3", "--max-mm", "4"])  # fmt: skip
    assert done.exit_code == 0, done.output
    return path.read_text()


@pytest.fixture
def cell(tmp_path: Path, reference: str) -> Path:
    path = tmp_path / "cell.yaml"
    path.write_text(reference)
    return path


def session(cell: Path, lines: list[str], **more: object) -> SessionChecks:
    return SessionChecks(cell, Calibration.load(cell), say=lines.append, pause_s=0.02, **more)  # type: ignore[arg-type]


def show_until(
    checks: SessionChecks, pictures: list[NDArray[np.uint8]], done: Callable[[], bool]
) -> None:
    """Show pictures as a camera does, until something has come of it."""
    end = time.monotonic() + 60
    number = 0
    while not done():
        assert time.monotonic() < end, checks.health()
        checks.show_picture("observations/head_left", pictures[number % len(pictures)])
        number += 1
        time.sleep(0.01)


def test_a_check_that_is_due_is_asked_for_and_made_from_what_the_cameras_see(
    cell: Path, looks: dict[str, list[NDArray[np.uint8]]]
) -> None:
    lines: list[str] = []
    with session(cell, lines) as checks:
        assert checks.health().state == "due"
        assert "show verification_a4 to head_left" in checks.health().ask
        assert "start" not in checks.facts()
        show_until(checks, looks["still"], lambda: checks.health().state == "good")
        assert checks.health().ask == ""
        start = checks.facts()["start"]
        assert start["passed"]
        assert start["position_error_m"] < 1e-3
    assert [entry.passed for entry in read_log(log_of(cell))] == [True]
    assert lines[0].startswith("cell@1.0.1 holds: verification_a4 by head_left off by 0.")


def test_a_bump_halts_the_session_holds_in_the_workspace_and_a_lift_lets_it_go_on(
    cell: Path, looks: dict[str, list[NDArray[np.uint8]]], tmp_path: Path
) -> None:
    root = tmp_path / "lab"
    make_workspace(root).close()
    lines: list[str] = []
    with session(cell, lines, root=root, station="s1") as checks:
        show_until(checks, looks["bumped"], lambda: bool(lines))
        assert checks.health().state == "halted"
        assert "head_left or verification_a4 was moved by 5" in checks.health().sentence
        with pytest.raises(CorporealError, match=r"got a failed check .* --despite-halt WHY"):
            checks.require_good()
        with open_workspace(root) as workspace, workspace.database.read() as connection:
            (halt,) = list_halts(connection, lifted=False)
            assert halt.station == "s1"
        append(log_of(cell), LoggedCheck("lift", moment_now(), "cell@1.0.1", "ann", passed=True,
                                         why="kicked"))  # fmt: skip
        assert not checks.is_halted
    assert any(line.startswith("halt: head_left or verification_a4") for line in lines)


def test_a_halt_in_the_workspace_alone_stops_a_session_too(cell: Path, tmp_path: Path) -> None:
    root = tmp_path / "lab"
    make_workspace(root).close()
    with open_workspace(root) as workspace, workspace.database.write() as connection:
        failed = StationCheck("cell@1.0.1", moment_now(), passed=False, shifts=())
        take_check(connection, failed, who="ann", why="head_left was moved")
    with session(cell, [], root=root) as checks:
        assert checks.is_halted


def test_without_the_marker_in_view_the_end_says_that_nobody_checked(cell: Path) -> None:
    lines: list[str] = []
    grey = [np.full((480, 640, 3), 90, np.uint8)]
    with session(cell, lines) as checks:
        show_until(checks, grey, lambda: "is not in view" in checks.health().ask)
    assert read_log(log_of(cell)) == []
    assert "no check of the calibration at the end" in lines[-1]
    assert "corporeal calibrate verify" in lines[-1]


@pytest.fixture(scope="module")
def movie(
    looks: dict[str, list[NDArray[np.uint8]]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A second of the marker where it should be."""
    path = tmp_path_factory.mktemp("movie") / "camera.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=20, options={"crf": "12"})
        stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
        for number in range(20):
            picture = looks["still"][number % 4]
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path


def record(movie: Path, cell: Path, out: Path, *more: str) -> object:
    return RUNNER.invoke(program(), [
        "record", "--driver", "video_file", "--set", f"path={movie}", "--set", "name=head_left",
        "--set", "speed=1", "--calibration", str(cell), "--task", "reach", "-o", str(out),
        "--no-check", "--json", *more,
    ])  # fmt: skip


@pytest.mark.slow
def test_the_recorder_checks_at_the_end_of_what_it_recorded(
    movie: Path, cell: Path, tmp_path: Path
) -> None:
    done = record(movie, cell, tmp_path / "out")
    assert done.exit_code == 0, done.output  # type: ignore[attr-defined]
    assert [entry.passed for entry in read_log(log_of(cell))] == [True]
    health = json.loads((tmp_path / "out" / "health.json").read_text())
    assert health["calibration"]["reference"] == "cell@1.0.1"


@pytest.mark.slow
def test_a_halted_station_does_not_start_to_record_unless_somebody_says_why(
    movie: Path, cell: Path, tmp_path: Path
) -> None:
    append(log_of(cell), LoggedCheck("check", moment_now(), "cell@1.0.1", "ann", passed=False))
    done = record(movie, cell, tmp_path / "out")
    assert isinstance(done.exception, CorporealError)  # type: ignore[attr-defined]
    assert "calibrate lift" in str(done.exception)  # type: ignore[attr-defined]
    assert not list((tmp_path / "out").glob("*.h5"))
    done = record(movie, cell, tmp_path / "out", "--despite-halt", "the marker fell over")
    assert done.exit_code == 0, done.output  # type: ignore[attr-defined]
    (path,) = (tmp_path / "out").glob("*.h5")
    with Episode.open(path) as episode:
        halt = episode.metadata["calibration"]["halt"]
    assert halt["override"] == "the marker fell over"
    judged = RUNNER.invoke(program(), ["check", str(path), "--json"])
    assert (
        "recorded although the calibration had failed its check: the marker fell" in judged.output
    )
