"""How far joints are from their commands: from the file's own samples, at the robot's limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from tests.studio.test_signal import add_episode, ask

from corporeal.catalog.workspace import Workspace
from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.schema import Stream

JOINTS = ("left_shoulder_pitch_joint", "left_elbow_joint", "right_elbow_joint")
MEASURED = Stream(name="joint_position", group="observations", rate_hz=100, shape=(3,), unit="rad",
                  components=JOINTS)  # fmt: skip
COMMANDED = Stream(name="joint_position_target", group="actions", rate_hz=50, shape=(2,),
                   unit="rad", components=(JOINTS[1], JOINTS[0]))  # fmt: skip
LATE_S = 0.08


@pytest.fixture
def followed(workspace: Workspace, tmp_path: Path) -> str:
    """Two joints that follow their commands 80 ms late, one with 0.1 rad of offset at one sample;
    the commands lie in another order and at another rate."""
    done_s, told_s = np.arange(1000) / 100, np.arange(500) / 50

    def motion(at: np.ndarray, phase: float) -> np.ndarray:
        return np.asarray(0.4 * np.sin(2 * np.pi * 0.7 * at + phase) + 0.1 * np.sin(9 * at))

    done = np.stack(
        [motion(done_s - LATE_S, 0.0), motion(done_s - LATE_S, 1.0), 0 * done_s], axis=1
    )
    told = np.stack([motion(told_s, 1.0), motion(told_s, 0.0)], axis=1)
    told[300:, 0] += 30.0
    streams = {
        MEASURED: (np.round(done_s * 1e9).astype(np.int64), done.astype(np.float32)),
        COMMANDED: (np.round(told_s * 1e9).astype(np.int64), told.astype(np.float32)),
    }
    return add_episode(workspace, tmp_path, streams)


def test_the_error_is_the_held_command_less_the_measurement_by_name(
    client: TestClient, followed: str, tmp_path: Path
) -> None:
    head, found = ask(client, followed, stream=MEASURED.path, against=COMMANDED.path, points=5000)
    assert head["mode"] == "samples"
    with Episode.open(tmp_path / "odd.h5") as episode:
        done = episode[MEASURED.path]
        told = episode[COMMANDED.path]
        held = np.searchsorted(told.time_ns, done.time_ns, side="right") - 1
        wanted = told[0 : len(told)][held][:, 1] - done[0 : len(done)][:, 0]
    np.testing.assert_allclose(found["values"][0], wanted, atol=1e-6)
    assert np.isnan(found["values"][2]).all()


def test_joints_are_told_worst_first_with_their_lag_and_what_their_motors_cannot_do(
    client: TestClient, followed: str
) -> None:
    pair = {"stream": MEASURED.path, "against": COMMANDED.path}
    answer = client.get(f"/api/episodes/{followed}/errors", params=pair)
    assert answer.status_code == 200, answer.text
    elbow, shoulder = answer.json()
    assert (elbow["name"], shoulder["name"]) == (JOINTS[1], JOINTS[0])
    assert elbow["largest"] == pytest.approx(30, abs=1)
    assert elbow["at_ns"] >= 6_000_000_000
    upper = next(j.upper for j in open_robot("g1").joints if j.name == JOINTS[1])
    assert elbow["beyond"].endswith(f"the joint ends at {upper:.3f} rad")
    assert shoulder["beyond"] is None
    assert shoulder["lag_s"] == pytest.approx(LATE_S, abs=0.02)


def test_steps_relative_to_the_state_are_no_commands_to_be_compared_with(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    stamps = np.arange(200) * 20_000_000
    walk = 3 + np.cumsum(np.full((200, 3), 0.001), axis=0).astype(np.float32)
    steps = Stream(name="action", group="actions", rate_hz=50, shape=(3,), unit="rad",
                   components=JOINTS)  # fmt: skip
    streams = {MEASURED: (stamps, walk), steps: (stamps, np.full((200, 3), 0.001, np.float32))}
    episode = add_episode(workspace, tmp_path, streams)
    pair = {"stream": MEASURED.path, "against": steps.path}
    assert client.get(f"/api/episodes/{episode}/errors", params=pair).json() == []


def test_streams_without_a_shared_column_are_refused_in_a_sentence(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    stamps = np.arange(50) * 20_000_000
    speed = Stream(name="base_velocity", group="actions", rate_hz=50, shape=(3,), unit="m/s",
                   components=("vx", "vy", "wz"))  # fmt: skip
    values = np.zeros((50, 3), np.float32)
    episode = add_episode(
        workspace, tmp_path, {MEASURED: (stamps, values), speed: (stamps, values)}
    )
    pair = {"stream": MEASURED.path, "against": speed.path}
    answer = client.get(f"/api/episodes/{episode}/errors", params=pair)
    assert answer.status_code == 422
    assert "expected a stream with columns of" in answer.json()["error"]
