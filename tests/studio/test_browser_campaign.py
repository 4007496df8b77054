"""The floor shows a campaign's card and refuses it; the coverage fills while somebody looks."""

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
from tests.studio.test_live import serving
from tests.studio.waiting import SECONDS, comes_to

from corporeal.catalog.episodes import EpisodeMark, mark_episodes
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import Comparison, read_fields
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.operations.campaign import create_campaign
from corporeal.protocol import Protocol
from corporeal.studio.settings import StudioSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
LEAD = Actor("lena", "lead")
PROTOCOL = Protocol.parse("""
document: protocol
name: tidy
version: 1.0.0
task: {name: synthetic_reach, goal: It stands in the tray.,
       instructions: ["Put the {object} into the tray."]}
start: {description: anyhow, upright: false}
end: {description: anyhow, upright: false}
trigger: {kind: button, pre_roll_s: 0.2, post_roll_s: 0.3}
prohibited: [{behaviour: drop, description: the object falls out of the hand}]
factors:
  - {name: object, levels: [red cup, green box, blue ball], field: variation.object}
  - name: pose
    levels: [near_left, near_right, far]
    places:
      near_left: {xyz: [0.30, 0.15, 0.8], radius_m: 0.04}
      near_right: {xyz: [0.30, -0.15, 0.8], radius_m: 0.04}
      far: {xyz: [0.45, 0.0, 0.8], radius_m: 0.04, yaw_rad: 0.6}
  - {name: lighting, levels: [day, lamp], change_min: 2}
""")


@contextmanager
def recording(workspace: Workspace, out: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`corporeal record` for a campaign at a source that goes on and on."""
    program = [
        sys.executable, "-m", "corporeal", "record", "--driver", "synthetic", "--set",
        "realtime=true", "--set", "seconds=600", "--set", "height=48", "--set", "width=64",
        "--campaign", "autumn", "--workspace", str(workspace.root), "--no-check", "--station", "s1",
        "--operator", "ann", "--health-port", "0", "--out", str(out), "--json",
    ]  # fmt: skip
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        try:
            comes_to(None, lambda: (out / "marks.json").exists() or process.poll() is not None,
                     wanted=True)  # fmt: skip
            where = json.loads((out / "marks.json").read_text())["address"]
            yield process, where.removeprefix("ws://").partition("/")[0]
        finally:
            process.kill()


def test_a_card_is_shown_refused_and_followed_and_the_table_fills(
    workspace: Workspace, page: Page, tmp_path: Path
) -> None:
    out = tmp_path / "takes"
    with workspace.database.write() as connection:
        create_campaign(connection, LEAD, "autumn", PROTOCOL, episodes=12)
    with recording(workspace, out) as (process, port):
        with serving(workspace, StudioSettings(recorders=(port,))) as address:
            page.set_viewport_size({"width": 1600, "height": 900})
            page.goto(f"{address}/floor")
            card = page.get_by_role("region", name="The card")
            card.get_by_text("Next: 1 of 12").wait_for()
            page.get_by_role("img", name=re.compile("The table from above")).wait_for()
            card.get_by_text("the object falls out of the hand").wait_for()
            words = page.locator(".station-instruction")
            words.filter(has_text=re.compile("Put the (red cup|green box|blue ball)")).wait_for()
            first = card.inner_text()
            page.screenshot(path=tmp_path / "floor.png")

            page.keyboard.press("r")
            dialog = page.get_by_role("dialog", name="Why not this one?")
            dialog.get_by_role("button", name="Something is broken").click()
            card.get_by_text("Next: 1 of 12").wait_for()
            comes_to(None, lambda: card.inner_text() != first, wanted=True)

            page.keyboard.press("Space")
            page.locator(".station-bar strong").get_by_text("RECORDING").wait_for()
            card.get_by_text("Now: 1 of 12").wait_for()
            page.keyboard.press("s")
            card.get_by_text("Next: 2 of 12").wait_for()
            comes_to(None, lambda: len(list(out.glob("*.h5"))), wanted=1)

            page.goto(f"{address}/campaigns")
            page.get_by_role("link", name="autumn").click()
            table = page.get_by_role("region", name="Coverage")
            table.get_by_text("near left").wait_for()
            page.get_by_text("0 of 12").wait_for()
            ours = Comparison("metadata.card.campaign", "=", "autumn")
            comes_to(None, lambda: _ids(workspace, ours) != [], wanted=True)
            page.get_by_text("1 unchecked").wait_for()
            with workspace.database.write() as connection:
                mark_episodes(
                    connection, _ids(workspace, ours), EpisodeMark("accepted"), who="lena"
                )
            # Nobody reloads the page.
            page.get_by_text("1 of 12").wait_for()
            table.get_by_text("1 of 1 (21 to 100 %)").first.wait_for()
            page.get_by_role("region", name="Still unknown").get_by_text("pairs not yet").wait_for()
            page.screenshot(path=tmp_path / "campaign.png", full_page=True)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
    (path,) = out.glob("*.h5")
    with Episode.open(path) as episode:
        levels = episode.metadata["card"]["levels"]
        assert episode.metadata["variation"] == {"object": levels["object"]}
        assert episode.metadata["pose"] == levels["pose"]
        assert episode.metadata["lighting"] == levels["lighting"]
        assert episode.metadata["instruction"] == f"Put the {levels['object']} into the tray."
        assert len(episode.metadata["asked"]["object_xyz"]) == 3


def _ids(workspace: Workspace, where: Comparison) -> list[str]:
    with workspace.database.read() as connection:
        return [row[0] for row in read_fields(connection, "id", where=where)]
