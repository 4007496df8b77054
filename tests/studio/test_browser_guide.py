"""Guided calibration in a real browser: the outline to follow, keys alone, reload, the result."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn
from tests.studio.simulated_hand import ALL_VIEWS, SimulatedHand, guide_of
from tests.studio.waiting import SECONDS, comes_to, fits

from corporeal.catalog.workspace import make_workspace
from corporeal.cli.guided_calibration import Guide
from corporeal.protocol import Calibration
from corporeal.studio.context import open_studio
from corporeal.studio.guide_feed import GuideFeed
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@dataclass
class Guided:
    """A guide that runs, the hand before its camera, where its page is, and what it writes."""

    guide: Guide
    hand: SimulatedHand
    address: str
    out: Path


@pytest.fixture
def guided(tmp_path: Path) -> Iterator[Guided]:
    """A guide of one camera, whose hand waits until it is told how many views to follow."""
    feed, hand, out = GuideFeed(), SimulatedHand(), tmp_path / "cell.yaml"
    guide = guide_of(hand, out, feed, "head_left", goal=0.5)
    walker = threading.Thread(target=guide.run, daemon=True)
    with (
        make_workspace(tmp_path / "lab") as workspace,
        open_studio(workspace, StudioSettings(), guide=feed) as studio,
    ):
        app = create_application(studio)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        serving = threading.Thread(target=server.run, daemon=True)
        serving.start()
        comes_to(None, lambda: server.started, wanted=True)
        port = server.servers[0].sockets[0].getsockname()[1]
        walker.start()
        yield Guided(guide, hand, f"http://127.0.0.1:{port}/guide", out)
        guide.stopping.set()
        hand.is_over.set()
        walker.join(timeout=SECONDS)
        server.should_exit = True
        serving.join(timeout=SECONDS)


def test_following_the_outline_calibrates_the_camera_also_after_a_reload(
    page: Page, guided: Guided
) -> None:
    from playwright.sync_api import expect

    page.goto(guided.address)
    expect(page.locator(".guide-ghost polygon")).to_be_attached()
    expect(page.locator(".guide-asked")).to_contain_text("of the picture")
    expect(page.locator(".guide-facts")).to_contain_text("not yet")
    guided.hand.views_wanted = 1
    expect(page.locator(".guide-said")).to_contain_text("view 1 taken")
    page.reload()
    guided.hand.views_wanted = ALL_VIEWS
    expect(page.get_by_role("heading", name="1 camera calibrated")).to_be_visible()
    (camera,) = Calibration.load(guided.out).cameras
    assert camera.name == "head_left"
    assert camera.focal_px == pytest.approx((600, 600), rel=0.02)
    assert camera.uncertainty_px is not None
    assert camera.uncertainty_px <= 0.5


def test_keys_alone_take_give_back_and_ask_for_another_view(page: Page, guided: Guided) -> None:
    from playwright.sync_api import expect

    page.goto(guided.address)
    said = page.locator(".guide-said")
    asked = page.locator(".guide-asked")
    expect(page.locator(".guide-ghost polygon")).to_be_attached()
    first = asked.inner_text()
    page.keyboard.press("n")
    expect(said).to_have_text("another view is asked for")
    expect(asked).not_to_have_text(first)
    guided.hand.views_wanted = 1
    expect(said).to_contain_text("view 1 taken")
    guided.hand.views_wanted = 0
    page.keyboard.press("u")
    expect(said).to_have_text("the last view was given back")
    page.keyboard.press("m")
    expect(page.locator(".guide-legend")).to_contain_text("corners that were seen")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Ask for another view")
    page.keyboard.press("Escape")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("Another view"):
            break
    page.keyboard.press("Enter")
    expect(said).to_have_text("another view is asked for")


def test_it_fits_a_telephone_and_a_laptop(page: Page, guided: Guided) -> None:
    page.goto(guided.address)
    page.wait_for_selector(".guide-ghost")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 720})
        fits(page, width)


def test_without_a_guide_the_page_says_how_to_start_one(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/guide")
    expect(page.get_by_role("heading")).to_have_text("No guided calibration runs in this Studio.")
    expect(page.locator("pre")).to_contain_text("corporeal calibrate guide --driver camera")
