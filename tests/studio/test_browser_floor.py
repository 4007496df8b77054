"""The floor's page drives a real recorder in a process of its own, by keys alone."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.studio.test_live import health, serving
from tests.studio.waiting import SECONDS, comes_to

from corporeal.capture.broadcast import Broadcast
from corporeal.catalog.audit import events_of
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts
from corporeal.episode.overview import verify
from corporeal.studio.settings import StudioSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
QUESTION = "dragging over the surface"
PROTOCOL = f"""
document: protocol
name: reach_asked
version: 1.0.0
task: {{name: synthetic_reach, goal: The hand is at the mark.}}
start: {{description: anyhow, upright: false}}
end: {{description: anyhow, upright: false}}
trigger: {{kind: button, pre_roll_s: 0.2, post_roll_s: 0.3}}
prohibited: [{{behaviour: {QUESTION}}}]
"""


@contextmanager
def recording(out: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`corporeal record` at a source that goes on and on, and where it publishes."""
    out.parent.joinpath("protocol.yaml").write_text(PROTOCOL)
    program = [
        sys.executable, "-m", "corporeal", "record", "--driver", "synthetic", "--set",
        "realtime=true", "--set", "seconds=600", "--set", "height=48", "--set", "width=64",
        "--trigger", "key", "--protocol", str(out.parent / "protocol.yaml"), "--station", "s1",
        "--plan", "50", "--health-port", "0", "--out", str(out), "--json",
    ]  # fmt: skip
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        try:
            comes_to(None, (out / "marks.json").exists, wanted=True)
            where = json.loads((out / "marks.json").read_text())["address"]
            yield process, where.removeprefix("ws://").partition("/")[0]
        finally:
            process.kill()


def test_takes_are_driven_by_keys_and_a_lost_studio_loses_none(
    workspace: Workspace, page: Page, tmp_path: Path
) -> None:
    out = tmp_path / "takes"
    with recording(out) as (process, port):
        with serving(workspace, StudioSettings(recorders=(port,))) as address:
            page.goto(f"{address}/floor")
            bar = page.locator(".station-bar strong")
            bar.get_by_text("READY").wait_for()
            page.get_by_text("The hand is at the mark.").wait_for()
            page.get_by_text("0 of 50 today").wait_for()
            page.get_by_alt_text("What head left sees").wait_for()
            page.keyboard.press("Space")
            bar.get_by_text(re.compile("RECORDING 0:0[1-9]")).wait_for()
            page.keyboard.press("s")
            page.get_by_text(f"Did this happen: {QUESTION}?").wait_for()
            page.keyboard.press("n")
            latest = page.locator(".take-latest")
            latest.filter(has_text="redo").wait_for()  # Noise is no demonstration.
            page.get_by_text("1 of 50 today").wait_for()

            page.keyboard.press("Space")
            bar.get_by_text("RECORDING").wait_for()
            page.keyboard.press("d")
            page.get_by_text("1 discarded today, not counted").wait_for()
            page.get_by_text("1 of 50 today").wait_for()

            page.keyboard.press("p")
            page.get_by_role("dialog", name="Foot pedal").wait_for()
            page.keyboard.press("F9")
            page.get_by_role("button", name="Pedal: F9").wait_for()
            page.keyboard.press("F9")
            bar.get_by_text("RECORDING").wait_for()
            with workspace.database.read() as connection:
                done = [each["what"] for each in events_of(connection, f"recorder:{port}")]
        # Studio is gone; the take goes on, and the recorder's own keys end it.
        assert sorted(done) == ["take.answer", "take.discard", "take.outcome", *["take.start"] * 3]
        page.locator(".floor-lost").wait_for()
        assert process.stdin is not None
        process.stdin.write("f drop\n")
        process.stdin.flush()
        comes_to(None, lambda: len(list(out.glob("*.h5"))), wanted=3)
        process.send_signal(signal.SIGINT)
        said = json.loads(process.communicate(timeout=SECONDS)[0])
    facts = []
    for path in said["episodes"]:
        assert verify(path) == ()
        with Episode.open(path) as episode:
            facts.append(read_facts(episode.metadata))
    assert [each.outcome.success for each in facts] == [True, None, False]
    assert facts[0].other["answers"] == {f"Did this happen: {QUESTION}?": False}
    assert facts[2].outcome.failure == "drop"
    assert list(said["quarantined"].values()) == ["the operator discarded it"]


def test_who_may_not_record_may_look_and_not_drive(workspace: Workspace, page: Page) -> None:
    with Broadcast(0) as recorder:
        recorder.publish(health(state="idle"))
        settings = StudioSettings(recorders=(f"127.0.0.1:{recorder.port}",), read_only=True)
        with serving(workspace, settings) as address:
            page.goto(f"{address}/floor")
            page.get_by_text("READY").wait_for()
            assert page.get_by_role("button", name="Start").is_disabled()
            page.get_by_text("driving a recorder takes the role operator").wait_for()
