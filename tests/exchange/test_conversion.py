"""Exports: whole or not at all, interrupted and resumed, never over something that is there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.small_sets import write_episodes

from corporeal.episode.recording import ArraySignal, Dataset, Recording, Signal
from corporeal.errors import CorporealError, EpisodeError, UnknownNameError, WriteError
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.schema import Stream

FORMAT = "lerobot"


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conversion")
    return write_episodes(folder / "recorded", 3, seconds=0.4, size=(32, 48))


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}  # fmt: skip


def test_an_export_says_what_it_made(episodes: Path, tmp_path: Path) -> None:
    started: list[int] = []
    written: list[str] = []
    exported = export(
        partial(open_dataset, episodes),
        tmp_path / "out",
        FORMAT,
        ExportOptions(),
        on_start=started.append,
        on_episode=lambda episode: written.append(episode.id),
    )
    assert started == [3]
    assert len(written) == 3
    assert exported.resumed == 0
    assert not (tmp_path / "out.partial").exists()
    assert len(open_dataset(tmp_path / "out").episodes) == 3
    listed = (tmp_path / "out" / "corporeal" / "episodes.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in listed] == written


def test_an_existing_folder_is_never_touched(episodes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(WriteError, match="already exists"):
        export(partial(open_dataset, episodes), out, FORMAT, ExportOptions())
    assert _files(out) == {"thesis.txt": b"mine"}


def test_an_unknown_format_lists_those_that_are_known(episodes: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="lerobot_v21"):
        export(partial(open_dataset, episodes), tmp_path / "out", "lerobt", ExportOptions())
    assert not list(tmp_path.iterdir())


def test_a_number_that_is_not_there_stops_before_anything_is_written(
    episodes: Path, tmp_path: Path
) -> None:
    with pytest.raises(CorporealError, match=r"has no episode 7; it has 3, numbered 0 to 2"):
        export(
            partial(open_dataset, episodes),
            tmp_path / "out",
            FORMAT,
            ExportOptions(episodes=(0, 7)),
        )
    assert not list(tmp_path.iterdir())


def test_no_episode_at_all_is_an_error(episodes: Path, tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="no episode to export"):
        export(
            partial(open_dataset, episodes),
            tmp_path / "out",
            FORMAT,
            ExportOptions(episodes=()),
        )


def test_an_interrupted_export_goes_on_where_it_was(
    episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    seen: list[int] = []

    def stop_after_two(facts: object) -> None:
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt

    opener = partial(open_dataset, episodes)
    with pytest.raises(KeyboardInterrupt):
        export(opener, out, FORMAT, ExportOptions(), on_episode=stop_after_two)
    assert not out.exists()
    kept = _files(tmp_path / "out.partial" / "pieces" / "000000")
    assert kept
    exported = export(opener, out, FORMAT, ExportOptions())
    assert exported.resumed == 2
    whole = export(opener, tmp_path / "again", FORMAT, ExportOptions())
    assert [each.to_json() for each in exported.episodes] == [
        each.to_json() for each in whole.episodes
    ]
    a, b = _files(out), _files(tmp_path / "again")
    assert a.keys() == b.keys()
    # Files of our own have the time in them; what the format itself holds is the same.
    own = [name for name in a if not name.startswith("corporeal/")]
    assert own
    assert all(a[name] == b[name] for name in own)


def test_the_rest_of_another_export_is_neither_mixed_in_nor_in_the_way(
    episodes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def stop(facts: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(partial(open_dataset, episodes), out, FORMAT, ExportOptions(), on_episode=stop)
    exported = export(partial(open_dataset, episodes), out, FORMAT, ExportOptions(rate_hz=15))
    assert exported.resumed == 0
    assert open_dataset(out).facts["fps"] == 15
    assert not (tmp_path / "out.partial").exists()


def test_two_exports_into_one_folder_at_once_are_refused(episodes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    opener = partial(open_dataset, episodes)

    def export_again(facts: object) -> None:
        with pytest.raises(WriteError, match=r"out\.partial is in use by another export"):
            export(opener, out, FORMAT, ExportOptions(rate_hz=15))

    exported = export(opener, out, FORMAT, ExportOptions(), on_episode=export_again)
    assert len(exported.episodes) == 3


def test_a_folder_that_no_export_made_is_left_alone(episodes: Path, tmp_path: Path) -> None:
    mine = tmp_path / "out.partial" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("notes")
    with pytest.raises(WriteError, match=r"out\.partial is in the way, and no export has made it"):
        export(partial(open_dataset, episodes), tmp_path / "out", FORMAT, ExportOptions())
    assert mine.read_text() == "notes"


def test_an_episode_that_does_not_fit_leaves_nothing_under_the_final_name(
    episodes: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    for path in episodes.iterdir():
        os.link(path, folder / path.name)
    (folder / "z.h5").write_bytes((episodes / "e0000.h5").read_bytes()[:5000])
    with pytest.raises(CorporealError, match=r"z\.h5"):
        export(partial(open_dataset, folder), tmp_path / "out", FORMAT, ExportOptions())
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_killed_export_goes_on_with_two_processes(episodes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "corporeal", "export", str(episodes), "--out", str(out),
               "--jobs", "2", "--json"]  # fmt: skip
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)  # fmt: skip
    pieces = tmp_path / "out.partial" / "pieces"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any(pieces.glob("0*")):
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert not out.exists()
    second = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert second.returncode == 0, second.stderr
    report = json.loads(second.stdout)
    assert report["resumed"] >= 1
    assert report["proof"]["holds"]
    assert len(open_dataset(out).episodes) == 3


def test_a_full_disk_is_one_sentence_and_the_rest_is_done_later(
    episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    room = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: room._replace(free=1000))
        with pytest.raises(WriteError, match=r"0 MiB are free\. Free some space") as caught:
            export(partial(open_dataset, episodes), out, "robomimic", ExportOptions())
    assert "\n" not in str(caught.value)
    assert not out.exists()
    assert len(open_dataset(_again(episodes, out)).episodes) == 3


def _again(episodes: Path, out: Path) -> Path:
    return export(partial(open_dataset, episodes), out, "robomimic", ExportOptions()).out


@pytest.mark.slow
def test_a_long_episode_is_written_in_blocks(tmp_path: Path) -> None:
    """Twenty minutes at 500 Hz: all columns at once would be some 100 MB."""
    stamps = np.arange(600_000, dtype=np.int64) * 2_000_000
    values = np.random.default_rng(0).normal(size=(600_000, 20)).astype(np.float32)
    signals: dict[str, Signal] = {}
    for name, group in (("joint_position", "observations"), ("joint_position_target", "actions")):
        spec = Stream.model_validate(
            {"name": name, "group": group, "shape": (20,), "rate_hz": 500.0}
        )
        signals[name] = ArraySignal(spec, stamps, values)
    long = Recording("long", tmp_path, 0, signals, metadata={"task": "wait"}, regridded=True)
    dataset = Dataset(tmp_path, "made", (0,), lambda _: long)
    tracemalloc.start()
    export(lambda: dataset, tmp_path / "out", FORMAT, ExportOptions(sides=False))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6
    rows = open_dataset(tmp_path / "out", restore=False).open(0)
    np.testing.assert_array_equal(rows.signals["action"][-5:], values[-5:])
