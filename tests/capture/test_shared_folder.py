"""Several recorders that write into one folder."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.capture.small_rig import ARM, STREAMS, Items, mark, samples

from corporeal.capture import open_episode
from corporeal.capture.driver import Driver, RecordingSource, Rig
from corporeal.capture.health import HealthMonitor, write_health
from corporeal.capture.pre_roll import Packed
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import TeamDocuments
from corporeal.episode import Episode
from corporeal.episode.file import JOURNAL_SUFFIX, open_journal
from corporeal.schema import Part, Schema


class Options(Part):
    """None."""


def _schema() -> Schema:
    return Schema.model_validate(
        {"document": "schema", "name": "s", "version": "1.0.0", "streams": STREAMS}
    )


def _recorder(folder: Path, ready: threading.Barrier | None = None) -> Recorder:
    def read() -> Items:
        if ready is not None:
            ready.wait(30)
        yield mark("start", 0.0)
        yield from samples(0.2)
        yield mark("end", 0.2)

    driver = Driver(Options, lambda _: Rig(_schema()), lambda _: read())
    settings = RecorderSettings(folder, post_roll_s=0.0)
    return Recorder([RecordingSource("small", driver, Options())], settings)


def test_a_name_that_is_taken_after_the_look_is_left_to_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = open_episode.free_name
    stranger: list[Path] = []

    def look_too_early(folder: Path, *more: Any) -> tuple[str, int]:
        name, index = look(folder, *more)
        if not stranger:
            stranger.append(folder / f"{name}{JOURNAL_SUFFIX}")
            stranger[0].write_bytes(b"of somebody else")
        return name, index

    monkeypatch.setattr(open_episode, "free_name", look_too_early)
    (path,) = _recorder(tmp_path).run()
    assert stranger[0].read_bytes() == b"of somebody else"
    assert path.stem != stranger[0].stem
    with Episode.open(path) as episode:
        assert len(episode[ARM]) == 20


def test_recorders_that_start_at_once_each_keep_their_episode(tmp_path: Path) -> None:
    ready = threading.Barrier(4)
    recorders = [_recorder(tmp_path, ready) for _ in range(4)]
    threads = [threading.Thread(target=one.run) for one in recorders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    paths = [path for one in recorders for path in one.episodes]
    assert len(set(paths)) == len(paths) == 4
    assert sorted(tmp_path.glob("*")) == sorted(paths)


def test_a_folder_that_a_recorder_makes_is_its_users_alone(tmp_path: Path) -> None:
    mine, ours = tmp_path / "day" / "mine", tmp_path / "ours"
    ours.mkdir(mode=0o755)
    for folder in (mine, ours):
        _recorder(folder).run()
    assert stat.S_IMODE(mine.stat().st_mode) == 0o700
    assert stat.S_IMODE(ours.stat().st_mode) == 0o755


def test_the_pre_roll_lies_in_chunks_of_a_tenth_of_a_second(tmp_path: Path) -> None:
    take, _ = open_episode.open_take(
        tmp_path, 0, Rig(_schema()), metadata={}, roll_s=(1.0, 0.0), sync_every_s=60.0,
        is_open_ended=False, losses={}, team=TeamDocuments(),
    )  # fmt: skip
    arm = (sample for sample in samples(1.0) if sample.stream == ARM)
    take.add_pre_roll(
        Packed(ARM, sample.source_ns, sample.arrival_ns, sample.value.tobytes()) for sample in arm
    )
    take.close(0, {})
    with open_journal(take.journal.path) as journal:
        assert journal.runs[ARM].count.tolist() == [10] * 10


def test_the_health_of_two_recorders_is_always_a_whole_file(tmp_path: Path) -> None:
    path, rounds = tmp_path / "health.json", 40
    health = HealthMonitor(_schema(), tmp_path).read(0)

    def write() -> None:
        for _ in range(rounds):
            write_health(path, health)

    write()
    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert json.loads(path.read_text())["state"] == "idle"
    assert [left.name for left in tmp_path.iterdir()] == ["health.json"]
