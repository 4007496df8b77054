"""`corporeal sync-test` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corporeal.cli.program import program
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.errors import CorporealError
from corporeal.schema import Stream, open_schema

JOINTS, SPEED = "observations/joint_position", "observations/joint_velocity"


def _jerks(path: Path, *, late_ms: float, still: tuple[str, ...] = ()) -> Path:
    """Three jerks of one joint, seen in its position and, so much later, in its velocity."""
    schema = open_schema("simulated_humanoid")
    streams = tuple(stream for stream in schema.streams if stream.path in (JOINTS, SPEED))
    quiet = tuple(Stream(name=name, group="observations", shape=(3,)) for name in still)
    chosen = schema.model_copy(update={"streams": (*streams, *quiet)})
    time_ns = np.arange(800) * 10_000_000
    time_s = time_ns / 1e9
    speed = sum(6.0 * np.exp(-(((time_s - at) / 0.05) ** 2)) for at in (2.0, 4.1, 6.3))
    rng = np.random.default_rng(0)
    values = {JOINTS: np.cumsum(speed) * 0.01, SPEED: speed}
    shift_ns = {JOINTS: 0, SPEED: round(late_ms * 1e6)}
    with EpisodeWriter(path, schema=chosen, embodiment=open_robot("g1")) as writer:
        for name, value in values.items():
            table = rng.normal(0, 1e-4, (len(time_ns), 29))
            table[:, 20] += value
            # A position is that of the end of its interval, a velocity that of the instant.
            half = 5_000_000 if name == JOINTS else 0
            writer.extend(name, time_ns + half + shift_ns[name], table.astype(np.float32))
        for stream in quiet:
            noise = rng.normal(0, 1e-3, (len(time_ns), 3)).astype(np.float32)
            writer.extend(stream.path, time_ns, noise)
    return path


def test_streams_in_sync_exit_with_0_and_a_picture(tmp_path: Path) -> None:
    episode, picture = _jerks(tmp_path / "jerks.h5", late_ms=0), tmp_path / "sync.png"
    result = CliRunner().invoke(program(), ["sync-test", str(episode), "-o", str(picture)])
    assert result.exit_code == 0, result.output
    assert "1 in sync" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_late_stream_exits_with_1_and_is_named_in_json(tmp_path: Path) -> None:
    episode = _jerks(tmp_path / "jerks.h5", late_ms=30)
    result = CliRunner().invoke(program(), ["sync-test", str(episode), "--json"])
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    late = next(stream for stream in report["streams"] if stream["path"] == SPEED)
    assert late["verdict"] == "late"
    assert late["lag_s"] == pytest.approx(0.030, abs=0.002)


def test_a_picture_of_unknown_kind_is_misuse(tmp_path: Path) -> None:
    episode = _jerks(tmp_path / "jerks.h5", late_ms=0)
    result = CliRunner().invoke(program(), ["sync-test", str(episode), "-o", "sync.gif"])
    assert isinstance(result.exception, CorporealError)


def test_a_tolerance_of_nothing_is_misuse(tmp_path: Path) -> None:
    episode = _jerks(tmp_path / "jerks.h5", late_ms=0)
    result = CliRunner().invoke(program(), ["sync-test", str(episode), "--tolerance-ms", "0"])
    assert isinstance(result.exception, CorporealError)


def test_most_streams_undecided_exits_with_1_unless_that_is_allowed(tmp_path: Path) -> None:
    episode = _jerks(tmp_path / "jerks.h5", late_ms=0, still=("imu_a", "imu_b"))
    words = ["sync-test", str(episode)]
    result = CliRunner().invoke(program(), words)
    assert result.exit_code == 1
    assert "1 in sync" in result.output
    assert "[green]" not in result.output
    assert "nothing can be said of 2 of 4 streams" in result.output
    report = json.loads(CliRunner().invoke(program(), [*words, "--json"]).stdout)
    assert report["undecided"] == ["observations/imu_a", "observations/imu_b"]
    assert CliRunner().invoke(program(), [*words, "--allow-undecided"]).exit_code == 0
