"""`corporeal calibrate reference, verify, checks, lift`, from pictures and from an episode."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np
import pytest
import yaml
from PIL import Image
from tests.calibration.marker_pictures import LEFT, RIGHT, draw, pose, station, write_folder
from typer.testing import CliRunner

from corporeal.catalog.episodes import find_named, list_checks, list_halts
from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.cli.program import program
from corporeal.episode import EpisodeWriter
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration
from corporeal.schema import Schema, Stream

RUNNER = CliRunner()
AT = [(LEFT, pose(-0.09, 0.0, 0.5)), (RIGHT, pose(0.1, 0.02, 0.5, (-0.3, 0.4, 0.0)))]
BUMPED = np.eye(4)
BUMPED[0, 3] = 0.004


def run(*words: object, code: int = 0) -> str:
    done = RUNNER.invoke(program(), ["calibrate", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


def refused(*words: object) -> str:
    done = RUNNER.invoke(program(), ["calibrate", *map(str, words)])
    assert isinstance(done.exception, CorporealError)
    return str(done.exception)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three looks: as it was calibrated, again, and with the camera 4 mm to the side."""
    folder = tmp_path_factory.mktemp("looks")
    write_folder(folder / "first", AT, seed=1)
    write_folder(folder / "again", AT, seed=2)
    write_folder(folder / "bumped", [(board, BUMPED @ place) for board, place in AT], seed=3)
    return folder


@pytest.fixture
def cell(tmp_path: Path, pictures: Path) -> Path:
    """A station whose two markers have references."""
    path = tmp_path / "cell.yaml"
    path.write_text(yaml.safe_dump(station().model_dump(mode="json", exclude_none=True)))
    right = tmp_path / "right.yaml"
    right.write_text(yaml.safe_dump(RIGHT.model_dump(mode="json", exclude_none=True)))
    run("reference", pictures / "first", "-c", path)
    run("reference", pictures / "first", "-c", path, "--board", right, "--every-min", 30)
    return path


def recorded(folder: Path, calibration: Path, number: int, *, places: object = None) -> Path:
    """A short episode of the station; with `places` the camera sees the markers there."""
    document = Calibration.load(calibration)
    schema = Schema(
        document="schema", name="one_camera", version="1.0.0",
        streams=(Stream(name="head_left", group="observations", kind="video", dtype="uint8",
                        shape=(480, 640, 3), rate_hz=10.0),),
    )  # fmt: skip
    path = folder / f"take_{number}.h5"
    rng = np.random.default_rng(number)
    with EpisodeWriter(path, schema=schema, metadata={"task": "reach", **document.facts()},
                       documents=(document,)) as writer:  # fmt: skip
        for frame in range(6):
            writer.append("observations/head_left", frame * 100_000_000,
                          draw(places if isinstance(places, list) else AT, rng))  # fmt: skip
    return path


def test_a_reference_raises_the_version_and_states_how_well_it_is_told(cell: Path) -> None:
    document = Calibration.load(cell)
    plan = document.verification
    assert document.version == "1.0.2"
    assert plan is not None
    assert [marker.name for marker in plan.markers] == ["verification_a4", "right"]
    assert plan.every_min == 30
    assert max(plan.markers[0].position_sigma_m) < 1e-3
    assert plan.markers[0].frame == "world"


def test_a_check_passes_and_is_a_line_of_the_log(cell: Path, pictures: Path) -> None:
    output = run("verify", pictures / "again", "-c", cell, "--log-only")
    assert "good (cell@1.0.2 holds)" in output
    (line,) = cell.with_name("cell.checks.jsonl").read_text().splitlines()
    assert json.loads(line)["passed"]
    assert "verification_a4 by head_left" in run("checks", cell)


def test_a_bumped_camera_ends_with_1_and_says_what_to_do(cell: Path, pictures: Path) -> None:
    output = run("verify", pictures / "bumped", "-c", cell, "--log-only", code=1)
    assert "head_left was moved" in output
    assert "next: fasten and calibrate again, or corporeal calibrate lift" in output
    told = json.loads(run("checks", cell, "--json"))
    assert [check["passed"] for check in told["checks"]] == [False]
    run("lift", "-c", cell, "--log-only", "--reason", "the table was pushed back")
    assert "the table was pushed back" in run("checks", cell)


def test_a_look_and_the_checks_so_far_are_drawn(cell: Path, pictures: Path, tmp_path: Path) -> None:
    look, chart = tmp_path / "look.png", tmp_path / "checks.png"
    run("verify", pictures / "bumped", "-c", cell, "--log-only", "--report", look, code=1)
    run("checks", cell, "--report", chart)
    red = []
    for path in (look, chart):
        with Image.open(path) as drawn:
            r, g, b = np.asarray(drawn.convert("RGB"), np.int64).transpose(2, 0, 1)
        red.append(int(((r > 150) & (g < 90) & (b < 90)).sum()))
    assert min(red) > 20, "what was moved is drawn in red in both"


def test_what_cannot_be_verified_is_refused_in_words(cell: Path, pictures: Path) -> None:
    told = refused("reference", pictures / "first", "-c", cell, "--max-mm", 0.05)
    assert "cannot verify with this marker at this distance" in told
    assert Calibration.load(cell).version == "1.0.2"


def test_sources_that_are_not_there_are_said_to_be(cell: Path, tmp_path: Path) -> None:
    assert "does not exist" in refused("verify", tmp_path / "none", "-c", cell)
    assert "SOURCE or --driver" in refused("verify", "-c", cell)
    bare = tmp_path / "bare.yaml"
    bare.write_text(yaml.safe_dump(station().model_dump(mode="json", exclude_none=True)))
    assert "corporeal calibrate reference" in refused("verify", tmp_path, "-c", bare)


def test_in_a_workspace_a_failed_check_holds_and_a_lift_gives_back(
    cell: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "lab"
    make_workspace(root).close()
    monkeypatch.setenv("CORPOREAL_WORKSPACE", str(root))
    takes = tmp_path / "takes"
    takes.mkdir()
    recorded(takes, cell, 1)
    done = RUNNER.invoke(program(), ["ingest", str(takes), "--no-check"])
    assert done.exit_code == 0, done.output
    told = json.loads(
        run("verify", pictures / "bumped", "-c", cell, "--station", "s1", "--json", code=1)
    )
    assert told["held"] == 1
    with open_workspace(root) as workspace, workspace.database.read() as connection:
        row = find_named(connection, "1")
        assert row is not None
        assert row.state == "quarantined"
        (halt,) = list_halts(connection, lifted=False)
        assert halt.key == told["halt"]
        assert "head_left was moved" in halt.why
        (check,) = list_checks(connection, "cell")
        assert check.station == "s1"
        assert check.shifts[0]["distance_m"] == pytest.approx(0.004, abs=2e-4)
    # What was recorded before a new check passes is held when it comes in.
    recorded(takes, cell, 2)
    output = RUNNER.invoke(program(), ["ingest", str(takes), "--no-check"]).output
    assert "quarantined" in output
    output = run("lift", "-c", cell, "--reason", "the camera was put back against its stop")
    assert "2 episodes as before" in output
    with open_workspace(root) as workspace, workspace.database.read() as connection:
        for name in ("1", "2"):
            row = find_named(connection, name)
            assert row is not None
            assert row.state == "recorded"


def test_an_episode_verifies_the_station_it_was_recorded_at(cell: Path, tmp_path: Path) -> None:
    good = recorded(tmp_path, cell, 1)
    assert "holds" in run("verify", good, "-c", cell, "--log-only")
    bumped = recorded(tmp_path, cell, 2, places=[(board, BUMPED @ place) for board, place in AT])
    told = json.loads(run("verify", bumped, "-c", cell, "--log-only", "--json", code=1))
    assert {marker["cause"] for marker in told["markers"]} == {"camera"}


def test_a_live_camera_is_looked_at_through_its_driver(
    cell: Path, pictures: Path, tmp_path: Path
) -> None:
    movie = tmp_path / "live.mp4"
    rng = np.random.default_rng(9)
    with av.open(str(movie), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"crf": "6"})
        stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
        for _ in range(12):
            frame = av.VideoFrame.from_ndarray(draw(AT, rng), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    run("reference", movie, "-c", cell, "--frames", 7)
    output = run("verify", "--driver", "head_left=video_file", "--set", f"path={movie}",
                 "-c", cell, "--log-only", "--camera", "head_left", code=0)  # fmt: skip
    assert "verification_a4 by head_left" in output
