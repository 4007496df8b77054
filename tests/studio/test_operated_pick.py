"""A scripted person picks the block up over the page's socket; Studio shows it with its latency."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("daqp", reason="needs the extra robot")
pytest.importorskip("mujoco", reason="needs the extra robot")

from bench.operated_pick import SENT_NS, WAY_NS, OperatedSession
from fastapi.testclient import TestClient
from tests.studio.test_signal import ask
from typer.testing import CliRunner

from corporeal.catalog.ingestion import ingest
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import make_workspace
from corporeal.cli.program import program
from corporeal.studio.context import open_studio
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings

# The way of a frame to the robot's side as the bench makes it, s, and its spread.
WAY_S, SPREAD_S = (SENT_NS + WAY_NS) / 1e9, 0.002


@pytest.mark.slow
def test_a_person_lifts_the_block_within_a_minute_and_studio_shows_how_late_it_was(
    tmp_path: Path,
) -> None:
    session = OperatedSession(tmp_path / "demos", seed=0)
    summary = session.drive()
    operator = session.operator
    assert operator.lifted_s is not None, "the object went up with the hand"
    assert operator.lifted_s < 60
    (outcome,), (path,), (verdict,) = summary.outcomes, summary.episodes, summary.verdicts
    assert outcome is not None
    assert (outcome.success, outcome.failure) == (True, None)
    assert outcome.measures["lift_height_m"] > 0.15
    assert verdict.verdict == "accepted"
    checked = CliRunner().invoke(program(), ["check", "--json", str(path)])
    (report,) = json.loads(checked.stdout)["episodes"]
    named = {entry["check"] for kind in ("findings", "not_assessed") for entry in report[kind]}
    assert "teleoperation_late" not in named, "its latency is measured, and short enough"
    with make_workspace(tmp_path / "work") as workspace:
        ingest(workspace, [path], who="tester", on="serial")
        with workspace.database.read() as connection:
            (row,) = every_episode(connection)
        with open_studio(workspace, StudioSettings()) as studio:
            client = TestClient(create_application(studio), base_url="http://localhost")
            _, arrays = ask(client, row.id, stream="debug/operator_latency", columns="0,1")
    late_s = arrays.get("values", arrays.get("high"))
    assert late_s is not None
    input_s, command_s = np.nanmedian(late_s.reshape(2, -1), axis=1)
    assert abs(input_s - WAY_S) < SPREAD_S
    assert 0 < command_s <= 0.01
