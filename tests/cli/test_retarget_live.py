"""`corporeal retarget-live`: a clip played to itself becomes an episode, also after a cut."""

from __future__ import annotations

import csv
import json
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
from tests.retargeting.people import walking_person
from typer.testing import CliRunner

from corporeal.cli.program import program
from corporeal.embodiment import open_robot
from corporeal.embodiment.joints import standing_positions
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.retargeting.live.frame_solver import LivePose
from corporeal.retargeting.live.live_recording import LiveRecording
from corporeal.retargeting.live.pose_message import PoseMessage
from corporeal.retargeting.motion import POINTS, MotionError


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A walk as keypoints in a table."""
    motion = walking_person(120, 60.0)
    path = tmp_path / "walk.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["time", *(f"{name}_{axis}" for name in POINTS for axis in "xyz")])
        for frame, points in enumerate(motion.positions):
            rows.writerow([frame / 60.0, *points.ravel().round(5).tolist()])
    return path


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_a_clip_that_is_played_becomes_an_episode_with_its_latency(
    tmp_path: Path, clip: Path
) -> None:
    episode = tmp_path / "live.h5"
    listen = f"udp://127.0.0.1:{_free_port()}"
    said = CliRunner().invoke(
        program(),
        ["retarget-live", "--play", str(clip), "--listen", listen, "--seconds", "2",
         "--record", str(episode), "--operator", "ada", "--json"],
    )  # fmt: skip
    assert said.exit_code == 0, said.output
    told = json.loads(said.stdout)
    assert told["frames"] > 20
    assert 0 < told["latency"]["total_ms"]["p50"] < 1000
    assert told["episode"] == str(episode)
    with Episode.open(episode) as made:
        assert made.metadata["operator"] == "ada"
        assert made.metadata["mode"] == "retargeted mocap"
        assert made.metadata["retargeting"]["settings"]["live"] is True
        assert len(made["observations/joint_position"]) > 20
    assert not (tmp_path / "live.h5.live").exists(), "the raw frames go once the episode is there"


def test_a_session_that_was_cut_off_is_made_an_episode_later(tmp_path: Path) -> None:
    robot = open_robot("g1")
    motion = walking_person(60, 60.0)
    folder = tmp_path / "cut.h5.live"
    standing = standing_positions(robot)
    with LiveRecording(folder, robot.name, robot.joint_names) as kept:
        for frame in range(60):
            person = PoseMessage(frame / 60.0, motion.positions[frame], motion.confidence[frame])
            base = np.array([0.02 * frame, 0.0, 0.78, 1.0, 0.0, 0.0, 0.0])
            kept.write(person, LivePose(standing, base, np.full(4, 0.01), True), 3.0)
    with (folder / "frames.f64").open("ab") as file:
        file.write(b"torn")
    copy = tmp_path / "again.h5.live"
    shutil.copytree(folder, copy)
    said = CliRunner().invoke(program(), ["retarget-live", "--recover", str(folder), "--json"])
    assert said.exit_code == 0, said.output
    with Episode.open(tmp_path / "cut.h5") as made:
        assert len(made["observations/joint_position"]) == 60
    other = CliRunner().invoke(
        program(), ["retarget-live", "--recover", str(copy), "--robot", "h1"]
    )
    assert isinstance(other.exception, MotionError)
    assert "was recorded with robot 'g1'" in str(other.exception)
    assert copy.exists(), "nothing is lost by naming the wrong robot"


def test_poses_keep_their_stamps_and_a_stall_is_a_gap_that_check_names(tmp_path: Path) -> None:
    robot = open_robot("g1")
    motion = walking_person(240, 120.0)
    # Every other pose of 120 Hz was skipped in the second half, and a third of a second is gone.
    sent = [frame for frame in range(240) if (frame < 120 or frame % 2) and not 60 <= frame < 100]
    jitter = np.random.default_rng(0).normal(0, 2e-4, 240)
    stamps = 50.0 + np.arange(240) / 120.0 + jitter
    folder = tmp_path / "busy.h5.live"
    standing = standing_positions(robot)
    with LiveRecording(folder, robot.name, robot.joint_names) as kept:
        for frame in sent:
            person = PoseMessage(stamps[frame], motion.positions[frame], motion.confidence[frame])
            swung = standing + 0.1 * np.sin(stamps[frame] + np.arange(len(standing)))
            base = np.array([0.01 * frame, 0.0, 0.78, 1.0, 0.0, 0.0, 0.0])
            kept.write(person, LivePose(swung, base, np.full(4, 0.01), True), 3.0)
    kept.conclude(1 / 120, {"received": 240, "skipped": 100})
    said = CliRunner().invoke(program(), ["retarget-live", "--recover", str(folder), "--json"])
    assert said.exit_code == 0, said.output
    episode = tmp_path / "busy.h5"
    with Episode.open(episode) as made:
        stream = made["observations/joint_position"]
        expected = np.rint((stamps[sent] - stamps[sent[0]]) * 1e9)
        np.testing.assert_allclose(stream.time_ns - stream.time_ns[0], expected, atol=1)
        assert stream.spec.rate_hz == pytest.approx(120.0)
        assert made.metadata["retargeting"]["settings"]["messages"]["skipped"] == 100
        speeds = made["observations/joint_velocity"][:]
        assert np.abs(speeds).max() < 0.2, "a gap is not swung over"
    judged = CliRunner().invoke(program(), ["check", str(episode), "--json"])
    findings = json.loads(judged.stdout)["episodes"][0]["findings"]
    by_check = {found["check"]: found for found in findings}
    assert "no sample for 3" in by_check["gap_in_stream"]["message"]
    assert by_check["gap_in_stream"]["value"] == pytest.approx(41 / 120, abs=0.002)
    assert {"rate_misstated", "samples_missing", "recording_incomplete"} & by_check.keys()


def test_an_episode_that_is_there_is_not_recorded_over(tmp_path: Path) -> None:
    there = tmp_path / "there.h5"
    there.write_bytes(b"something")
    said = CliRunner().invoke(program(), ["retarget-live", "--record", str(there)])
    assert isinstance(said.exception, CorporealError)
    assert "is there already" in str(said.exception)
    assert there.read_bytes() == b"something"


def test_nobody_who_sends_is_said_and_exits_with_one() -> None:
    listen = f"udp://127.0.0.1:{_free_port()}"
    said = CliRunner().invoke(program(), ["retarget-live", "--listen", listen, "--seconds", "0.3"])
    assert said.exit_code == 1
    assert "not one pose was followed" in said.stdout
