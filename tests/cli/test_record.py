"""`corporeal record` and `corporeal recover` as people call them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from corporeal.capture.driver import drivers, parse_options
from corporeal.cli.program import program
from corporeal.episode import Episode
from corporeal.episode.file import episode_header
from corporeal.episode.file.journal import JournalWriter
from corporeal.episode.overview import verify
from corporeal.errors import CorporealError
from corporeal.schema import Schema

TINY = ("--driver", "synthetic", "--set", "height=16", "--set", "width=32")
SMALL = (*TINY, "--no-check")


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def _complaint(*arguments: str | Path) -> str:
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    sentence = str(result.exception)
    assert "\n" not in sentence
    return sentence


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Two short synthetic episodes, and what was said about them."""
    out = tmp_path_factory.mktemp("recorded")
    result = _run(
        "record", *TINY, "--set", "seconds=0.4", "--episodes", "2", "--out", out, "--operator",
        "op07", "--station", "s1", "--session", "morning", "--meta", "environment=lab", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return out, json.loads(result.stdout)


def test_episodes_are_recorded_and_listed(recorded: tuple[Path, dict[str, Any]]) -> None:
    out, said = recorded
    assert len(said["episodes"]) == 2
    assert said["quarantined"] == said["refused"] == {}
    assert said["missed"] == 0
    for path in said["episodes"]:
        assert verify(path) == ()
    assert sorted(path.suffix for path in out.iterdir()) == [".h5", ".h5", ".json"]


def test_the_floors_facts_are_in_the_episode(recorded: tuple[Path, dict[str, Any]]) -> None:
    with Episode.open(recorded[1]["episodes"][0]) as episode:
        facts = episode.metadata
        assert facts["operator"] == "op07"
        assert facts["station"] == "s1"
        assert facts["session"] == "morning"
        assert facts["environment"] == "lab"
        assert facts["software"].startswith("corporeal ")
        assert facts["roll"]["short"] == []


def test_every_episode_comes_with_its_verdict(recorded: tuple[Path, dict[str, Any]]) -> None:
    said = recorded[1]
    assert [verdict["episode"] for verdict in said["verdicts"]] == said["episodes"]
    for verdict in said["verdicts"]:
        # Random numbers are no demonstration, and the verdict says by which checks.
        assert verdict["verdict"] == "failed"
        assert "imu_gravity_wrong" in verdict["findings"]
        assert verdict["reason"]


def test_the_last_health_is_left_as_a_file(recorded: tuple[Path, dict[str, Any]]) -> None:
    health = json.loads((recorded[0] / "health.json").read_text())
    assert health["state"] == "ended"
    assert health["episodes"] == 2


def test_people_get_sentences(tmp_path: Path) -> None:
    result = _run("record", *SMALL, "--set", "seconds=0.2", "--out", tmp_path, "--episodes", "1")
    assert result.exit_code == 0, result.output
    assert "1 episode, 0 samples missed, 0 dropped" in result.stdout
    assert "next: corporeal info" in result.stdout


def test_a_source_that_starts_nothing_is_explained(tmp_path: Path) -> None:
    result = _run("record", *SMALL, "--set", "seconds=0.2", "--out", tmp_path, "--trigger", "key")
    assert "nobody started an episode (Enter does); nothing was recorded" in result.stdout


def test_motion_starts_an_episode(tmp_path: Path) -> None:
    result = _run("record", *SMALL, "--set", "seconds=0.4", "--out", tmp_path, "--trigger",
                  "motion", "--json")  # fmt: skip
    (reason,) = json.loads(result.stdout)["quarantined"].values()
    assert reason == "the source ended before the episode did"


def test_the_drivers_are_listed() -> None:
    listed = json.loads(_run("record", "--list-drivers", "--json").stdout)
    assert {"sim", "synthetic", "replay", "mcap", "rosbag", "unitree_dds", "ros2"} <= set(listed)
    assert "seconds" in listed["synthetic"]["options"]
    assert listed["unitree_dds"]["live"]
    assert "options: robot, seconds" in _run("record", "--list-drivers").stdout


def test_a_mistake_is_one_sentence(tmp_path: Path) -> None:
    out = ("--out", tmp_path)
    said = _complaint("record", "--driver", "syntetic", *out)
    assert "unknown driver, got 'syntetic'" in said
    assert "Did you mean 'synthetic'?" in said
    assert "driver option colour" in _complaint("record", *SMALL, *out, "--set", "colour=red")
    said = _complaint("record", *SMALL, *out, "--set", "seconds=-1")
    assert said.startswith("driver option seconds, got '-1'")
    assert "--set, got 'seconds'; expected NAME=VALUE" in _complaint(
        "record", *SMALL, *out, "--set", "seconds"
    )
    assert "--meta, got '=x'" in _complaint("record", *SMALL, *out, "--meta", "=x")
    said = _complaint("record", *SMALL, *out, "--trigger", "telepathy")
    assert "unknown trigger, got 'telepathy'; expected one of: auto, key, motion" in said
    assert "unknown robot" in _complaint("record", *SMALL, *out, "--set", "robot=none")
    (tmp_path / "file").write_text("")
    assert "folder for the episodes" in _complaint("record", *SMALL, "--out", tmp_path / "file")


def _start(out: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "corporeal", "record", *SMALL, "--set", "realtime=true", "--set",
         "seconds=60", "--out", str(out), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        if any(path.stat().st_size > 200_000 for path in out.glob("*.journal")):
            return process
        time.sleep(0.05)
    process.kill()
    pytest.fail(f"no recording began: {process.communicate()}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_in_order_with_a_whole_episode(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = _start(tmp_path)
    process.send_signal(number)
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    said = json.loads(output)
    (path,) = said["episodes"]
    assert said["quarantined"] == {path: "recording was stopped before the episode ended"}
    assert verify(path) == ()
    assert list(tmp_path.glob("*.journal")) == []


def test_a_killed_recording_is_recovered_by_one_command(tmp_path: Path) -> None:
    process = _start(tmp_path)
    busy = _run("recover", tmp_path, "--json")
    assert busy.exit_code == 1
    assert "in use by another writer" in next(iter(json.loads(busy.stdout)["failed"].values()))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    result = _run("recover", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    (path,) = json.loads(result.stdout)["recovered"]
    assert verify(path) == ()
    with Episode.open(path) as episode:
        assert "the recorder ended before the episode did" in episode.metadata["quarantine"]
        assert episode.metadata["task"] == "synthetic_reach"
    assert "nothing to recover" in _run("recover", tmp_path).stdout


def test_recover_names_what_cannot_be_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.journal").write_bytes(b"garbage")
    (tmp_path / "b.journal").mkdir()
    JournalWriter(tmp_path / "c.journal", {}, []).close()
    result = _run("recover", tmp_path, "--json")
    assert result.exit_code == 1
    failed = json.loads(result.stdout)["failed"]
    assert "not a journal" in failed[str(tmp_path / "a.journal")]
    assert "no regular file" in failed[str(tmp_path / "b.journal")]
    assert "no sample was recorded" in failed[str(tmp_path / "c.journal")]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("setting", "name", "value"),
    [
        ("late_ms=observations/pelvis_imu=20", "late_ms", {"observations/pelvis_imu": 20.0}),
        ('late_ms={"observations/pelvis_imu": 5}', "late_ms", {"observations/pelvis_imu": 5.0}),
        ("randomise=wide", "randomise", "wide"),
        ("randomise=no", "randomise", False),
        ("randomise=mass=0.5..2,friction=0.3..1", "randomise",
         {"mass": (0.5, 2.0), "friction": (0.3, 1.0)}),
    ],
)  # fmt: skip
def test_options_with_parts_and_ranges_are_set_as_text(
    setting: str, name: str, value: object
) -> None:
    driver = drivers()["sim"]
    key, _, text = setting.partition("=")
    options = parse_options(driver, {key: text})
    assert getattr(options, name) == value
    driver.describe(options)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("late_ms", "x", "driver option late_ms, got 'x'"),
        ("randomise", "weird", "driver option randomise, got 'weird'; expected yes, no, wide, or"),
        ("randomise", "mass=3", "driver option randomise, got 'mass=3'; expected yes, no, wide"),
        ("randomise", "speed=1..2", "unknown range, got 'speed'; expected one of: friction"),
        ("randomise", "mass=0.5..200", "range of mass, got (0.5, 200.0); expected low <= high"),
    ],
)
def test_options_with_parts_that_do_not_fit_are_refused(
    name: str, text: str, sentence: str
) -> None:
    driver = drivers()["sim"]
    with pytest.raises(CorporealError) as caught:
        driver.describe(parse_options(driver, {name: text}))
    assert sentence in str(caught.value)


def test_recover_says_which_damaged_journal_it_kept(tmp_path: Path) -> None:
    head = {"document": "schema", "name": "s", "version": "1.0.0"}
    stream = {"name": "arm", "group": "observations", "shape": [2], "dtype": "int64"}
    schema = Schema.model_validate({**head, "streams": [stream]})
    path = tmp_path / "a.journal"
    header = episode_header(path, schema=schema, embodiment=None, metadata={}, epoch_ns=0,
                            episode_id="x")  # fmt: skip
    begins = []
    writer = JournalWriter(path, header, ["observations/arm"], sync_every_s=None)
    for number in range(9):
        begins.append(path.stat().st_size)
        writer.append("observations/arm", number, number, bytes(16))
        writer.flush()
    writer.close()
    data = bytearray(path.read_bytes())
    data[begins[4] + 1 + 3] ^= 0x10  # Bit 28 of the length of a chunk: far beyond the file.
    path.write_bytes(data)
    result = _run("recover", tmp_path)
    assert result.exit_code == 0, result.output
    kept = tmp_path / "a.journal.damaged"
    assert kept.read_bytes() == data
    assert f"kept {kept}: it was damaged" in result.stdout.replace("\n", "")
    with Episode.open(tmp_path / "a.h5") as episode:
        assert len(episode["observations/arm"]) == 8
