"""What comes into a folder is taken once, when it is complete, and nothing in it stops the rest."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from corporeal.capture.driver import RecordingSource, drivers, parse_options
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.catalog.query import count_episodes
from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.cli.arrivals import ArrivalLog, FolderArrival, FolderScan
from corporeal.cli.commands import watch_folder
from corporeal.cli.program import program
from corporeal.errors import CorporealError


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    driver = drivers()["synthetic"]
    options = parse_options(driver, {"seconds": 0.2, "height": 16, "width": 32})
    settings = RecorderSettings(tmp_path_factory.mktemp("one"), metadata={"operator": "op07"})
    return Recorder([RecordingSource("robot", driver, options)], settings).run()[0]


@pytest.fixture
def floor(tmp_path: Path) -> Path:
    (tmp_path / "incoming").mkdir()
    make_workspace(tmp_path / "floor").close()
    return tmp_path


def _look(floor: Path, *more: str) -> list[dict[str, Any]]:
    arguments = ("watch-folder", floor / "incoming", "-w", floor / "floor", "--once", "--json",
                 "--no-pictures", *(more or ("--settle", "0")))  # fmt: skip
    result = CliRunner().invoke(program(), [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


def _count(floor: Path) -> int:
    with open_workspace(floor / "floor") as workspace, workspace.database.read() as connection:
        return count_episodes(connection)


def test_an_episode_is_taken_with_its_verdict_and_once(floor: Path, episode: Path) -> None:
    (floor / "incoming" / "monday").mkdir()
    shutil.copy(episode, floor / "incoming" / "monday" / "one.h5")
    [told] = _look(floor)
    assert (told["arrival"], told["status"]) == ("monday/one.h5", "taken")
    assert told["episodes"][0]["verdict"] in ("accepted", "quarantined", "failed")
    assert _look(floor) == []
    assert _count(floor) == 1


def test_the_same_content_under_another_name_is_known(floor: Path, episode: Path) -> None:
    for name in ("one.h5", "two.h5"):
        shutil.copy(episode, floor / "incoming" / name)
    first, second = _look(floor)
    assert (first["episodes"][0]["status"], second["episodes"][0]["status"]) == ("added", "known")
    assert _count(floor) == 1


def test_what_is_being_written_waits(floor: Path, episode: Path) -> None:
    incoming = floor / "incoming"
    shutil.copy(episode, incoming / "late.h5")
    shutil.copy(episode, incoming / "draft.h5.partial")
    shutil.copy(episode, incoming / ".hidden.h5")
    (incoming / "bag").mkdir()
    (incoming / "bag" / "bag_0.db3").write_bytes(b"SQLite format 3\0")
    told = {each["arrival"]: each for each in _look(floor, "--settle", "3600")}
    assert {name: each["status"] for name, each in told.items()} == {
        "late.h5": "waiting", "bag": "waiting"}  # fmt: skip
    assert told["bag"]["reason"] == "the bag has no metadata.yaml yet"
    assert _count(floor) == 0


def test_a_file_that_changes_between_two_looks_never_settles(tmp_path: Path) -> None:
    path = tmp_path / "grows.h5"
    scan = FolderScan(tmp_path, 3600)
    for number in range(3):
        with path.open("ab") as file:
            file.write(b"x" * (number + 1))
        [seen] = scan.arrivals()
        assert seen.condition == "waiting"


def test_hostile_content_is_refused_and_the_rest_goes_on(floor: Path, episode: Path) -> None:
    incoming = floor / "incoming"
    os.mkfifo(incoming / "fifo.h5")
    (incoming / "link.h5").symlink_to(episode)
    (incoming / "loop").symlink_to(incoming / "loop")
    (incoming / "torn.h5").write_bytes(episode.read_bytes()[:5000])
    (incoming / "notes.txt").write_text("hello")
    dataset = incoming / "dataset"
    (dataset / "meta").mkdir(parents=True)
    (dataset / "meta" / "info.json").write_text('{"codebase_version": "v2.1", "features": {}}')
    os.mkfifo(dataset / "meta" / "episodes.jsonl")
    shutil.copy(episode, incoming / "zebra.h5")
    told = {each["arrival"]: each for each in _look(floor)}
    assert told["zebra.h5"]["status"] == "taken"
    refused = {name: each["reason"] for name, each in told.items() if each["status"] == "refused"}
    assert refused.keys() == {"fifo.h5", "link.h5", "loop", "torn.h5", "notes.txt", "dataset"}
    assert "is a FIFO" in refused["fifo.h5"]
    assert "link out of the folder" in refused["link.h5"]
    assert "episodes.jsonl in it is a FIFO" in refused["dataset"]
    assert all("\n" not in reason for reason in refused.values())
    assert _look(floor) == []
    # Under another version of what a reader is told, what was refused is tried once more.
    again = {each["arrival"] for each in _look(floor, "--settle", "0", "--robot", "g1")}
    assert "notes.txt" in again
    assert "zebra.h5" not in again


def test_a_dataset_of_others_is_taken_once_also_after_a_kill(
    floor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "\n".join(",".join("0" if n != 6 else "1" for n in range(36)) for _ in range(60))
    (floor / "incoming" / "walk.csv").write_text(rows)
    more = ("--settle", "0", "--robot", "g1", "--source-rate", "30")

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ArrivalLog, "end", die)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            _look(floor, *more)
    assert _count(floor) == 1
    [told] = _look(floor, *more)
    assert told["status"] == "taken"
    assert told["episodes"][0]["status"] == "known"
    assert _count(floor) == 1
    assert _look(floor, *more) == []
    left = [path for path in (floor / "floor" / "watch-folder").iterdir() if path.is_dir()]
    assert all(not any(path.iterdir()) for path in left)


def test_what_ends_the_program_three_times_is_refused(tmp_path: Path) -> None:
    arrival = FolderArrival(tmp_path / "bad.bag", "bad.bag", "complete", "1-2-3")
    for expected in (True, True, True, False):
        with ArrivalLog(tmp_path / "log.jsonl", "terms") as log:
            assert log.begin(arrival) is expected
            with pytest.raises(CorporealError, match="being watched"):
                ArrivalLog(tmp_path / "log.jsonl", "terms")
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"name": "bad.bag", "finger')  # torn by a kill
    with ArrivalLog(tmp_path / "log.jsonl", "terms") as log:
        assert not log.begin(arrival)
        # An attempt that a person broke off does not count.
        log.withdraw(arrival)
        assert log.begin(arrival)


def test_an_error_of_a_reader_by_mistake_stops_nothing(
    floor: Path, episode: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one.h5", "two.h5"):
        shutil.copy(episode, floor / "incoming" / name)
    plain = watch_folder.ArrivalIntake.take

    def take(intake: watch_folder.ArrivalIntake, arrival: FolderArrival) -> Any:
        if arrival.name == "one.h5":
            raise ZeroDivisionError("division by zero")
        return plain(intake, arrival)

    monkeypatch.setattr(watch_folder.ArrivalIntake, "take", take)
    first, second = _look(floor)
    assert first["reason"] == "cannot be read (ZeroDivisionError: division by zero)"
    assert second["status"] == "taken"


def test_a_path_that_is_no_folder_is_refused(floor: Path) -> None:
    shutil.rmtree(floor / "incoming")
    with pytest.raises(CorporealError, match="got no folder"):
        _look(floor)
