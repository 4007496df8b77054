"""Signals and timeline in a real browser: what is shown is what the file holds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlparse
from urllib.request import urlopen

import numpy as np
import pytest
from tests.studio.waiting import at_rest, comes_to

from corporeal.catalog.ingestion import ingest
from corporeal.catalog.tables import FINDING
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode, EpisodeWriter
from corporeal.schema import Schema, Stream

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
FORCE = Stream(name="force", group="observations", rate_hz=1000, shape=(2,), unit="N",
               components=("pull", "push"))  # fmt: skip
MARKED = (30_000, 30_500)


@pytest.fixture
def long_episode(workspace: Workspace, tmp_path: Path) -> str:
    """A minute at 1 kHz with a finding half way, taken into the workspace."""
    path = tmp_path / "long.h5"
    schema = Schema(document="schema", name="long", version="1.0.0", streams=(FORCE,))
    numbers = np.arange(60_000)
    values = np.stack([np.sin(numbers / 500), numbers / 1000], axis=1).astype(np.float32)
    with EpisodeWriter(path, schema=schema) as writer:
        writer.extend(FORCE.path, numbers * 1_000_000, values)
    ingest(workspace, [path], who="tester", on="serial", check=False)
    with Episode.open(path) as episode:
        name = episode.id
    with workspace.database.write() as connection:
        connection.execute(FINDING.insert().values(
            episode=name, number=0, check="force_spikes", severity="fail", stream=FORCE.path,
            value=2.0, limit=1.0, frames=[list(MARKED)], message="it pulls too hard.",
        ))  # fmt: skip
    return name


def _time_ns(page: Page) -> float:
    return float(page.get_by_role("slider", name="Time").get_attribute("aria-valuenow") or 0) * 1e6


def test_a_click_on_a_finding_goes_to_its_frame_and_the_legend_reads_the_file(
    page: Page, address: str, long_episode: str
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes/{long_episode}")
    mark = page.locator(".timeline-finding")
    mark.click()
    expect(page.get_by_role("slider", name="Time")).to_have_attribute(
        "aria-valuenow", str(MARKED[0])
    )
    expect(mark).to_have_attribute("aria-current", "true")
    # A minute at 1 kHz is drawn as extremes; the legend reads the sample itself.
    page.wait_for_selector(".plot[data-mode=envelope]")
    wanted = f"{np.float32(MARKED[0] / 1000):.3f}"
    output = page.locator("output[data-column='1'][data-of=measured]")
    expect(output).to_have_text(wanted)
    query = f"stream={FORCE.path}&time_ns={MARKED[0] * 1_000_000}"
    with urlopen(f"{address}/api/episodes/{long_episode}/sample?{query}") as answer:
        assert json.load(answer)["index"] == MARKED[0]
    slider = page.get_by_role("slider", name="Time")
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuenow", "0")
    page.keyboard.press("n")
    expect(slider).to_have_attribute("aria-valuenow", str(MARKED[0]))


def test_zooming_asks_for_finer_samples_and_a_click_seeks(
    page: Page, address: str, long_episode: str
) -> None:
    asked: list[tuple[int, int]] = []

    def note(request: Request) -> None:
        if "/signal?" in request.url:
            query = parse_qs(urlparse(request.url).query)
            asked.append((int(query["start_ns"][0]), int(query["end_ns"][0])))

    page.on("request", note)
    page.goto(f"{address}/episodes/{long_episode}?t={MARKED[0] * 1_000_000}")
    page.wait_for_selector(".plot[data-mode=envelope]")
    assert len(asked) == 1
    whole = asked[0][1] - asked[0][0]
    for _ in range(5):
        page.keyboard.press("z")
    # A slow machine may ask for the spans on the way as well; in the end it asks for a fine one.
    comes_to(page, lambda: asked[-1][1] - asked[-1][0] < whole / 8, wanted=True)
    finest = asked[-1]
    assert finest[0] < MARKED[0] * 1e6 < finest[1]
    page.wait_for_selector(".timeline-window")
    area = at_rest(page.locator(".plot-area"))
    page.mouse.click(area["x"] + area["width"] * 0.75, area["y"] + 40)
    comes_to(page, lambda: _time_ns(page) != MARKED[0] * 1e6, wanted=True)
    assert finest[0] < _time_ns(page) < finest[1]
    page.keyboard.press("0")
    page.wait_for_selector(".timeline-window", state="detached")


def test_the_playhead_works_by_keys_and_says_what_is_found(
    page: Page, address: str, long_episode: str
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes/{long_episode}")
    slider = page.get_by_role("slider", name="Time")
    slider.focus()
    expect(slider).to_be_focused()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuenow", "59999")
    page.keyboard.press("p")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("Force spikes"))
