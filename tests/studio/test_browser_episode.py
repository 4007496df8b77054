"""The page of an episode in a real browser: a newcomer finds the fall; all works by keyboard."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.studio.conftest import SmallWorkspace
from tests.studio.real_browser import new_page
from tests.studio.small_workspace import write_episode
from tests.studio.waiting import at_rest, comes_to, fits

from corporeal.catalog.ingestion import ingest
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import make_workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def fallen(tmp_path_factory: pytest.TempPathFactory) -> SmallWorkspace:
    """A good episode, and one that bumps into something and falls at 3 s."""
    folder = tmp_path_factory.mktemp("fallen")
    good = {"operator": "ann", "task": "reach", "outcome": {"success": True}}
    bad = {"operator": "ben", "task": "reach", "outcome": {"success": False, "failure": "fall"}}
    files = [
        write_episode(folder / "good.h5", seed=1, metadata=good),
        write_episode(folder / "fall.h5", seed=2, metadata=bad, events=(
            (0.5, "start"), (2.5, "contact"), (3.0, "fall"), (3.5, "end"))),
    ]  # fmt: skip
    with make_workspace(folder / "workspace") as workspace:
        ingest(workspace, files, who="tester", on="serial")
        with workspace.database.read() as connection:
            names = [row.id for row in every_episode(connection, order="recorded")]
    return SmallWorkspace(folder / "workspace", names)


@pytest.fixture
def small_workspace(fallen: SmallWorkspace) -> SmallWorkspace:
    """The workspace that `address` serves; nothing here changes it."""
    return fallen


def test_a_newcomer_finds_the_fall_and_what_led_to_it(
    page: Page, address: str, fallen: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes/{fallen.episodes[1]}")
    happened = page.get_by_role("region", name="What happened")
    expect(happened).to_contain_text("the robot fell at 3.000 s.")
    before = happened.get_by_role("list", name="Before, in order")
    expect(before.get_by_role("button", name="contact 2.500 s")).to_be_visible()
    happened.get_by_role("button", name="Go to the fall").click()
    page.wait_for_url("**t=3000000000**")
    finding = page.get_by_role("listitem").filter(has_text="task_failed").first
    expect(finding).to_contain_text("Why it matters")
    page.get_by_role("tab", name="score").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("episodes of reach")
    page.get_by_role("tab", name="lineage").click()
    expect(page.get_by_role("link", name="operator ben")).to_be_visible()


def test_the_keyboard_moves_through_the_page(
    page: Page, address: str, fallen: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    good, bad = fallen.episodes
    page.goto(f"{address}/episodes/{bad}")
    panel = page.get_by_role("complementary", name="What is known")
    expect(panel).to_be_visible()
    page.keyboard.press("i")
    expect(panel).to_have_count(0)
    page.keyboard.press("i")
    expect(panel).to_be_visible()
    bar = page.get_by_role("separator", name="Height of the views")
    before = int(bar.get_attribute("aria-valuenow") or 0)
    bar.focus()
    expect(bar).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(bar).to_have_attribute("aria-valuenow", str(before + 2))
    page.reload()
    expect(bar).to_have_attribute("aria-valuenow", str(before + 2))
    tab = page.get_by_role("tab", name="findings")
    tab.focus()
    expect(tab).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="score")).to_be_focused()
    expect(page.get_by_role("button", name="The next episode")).to_be_enabled()
    page.keyboard.press("PageDown")
    page.wait_for_url(f"**/episodes/{good}")
    # The new page, not the old one, which has tabs and keys too.
    expect(page.locator("h1[title='good.h5']")).to_be_visible()
    page.keyboard.press("c")
    page.wait_for_url(f"**/compare?a={good}")
    page.get_by_role("link", name=re.compile("^#2 ")).click()
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()


def test_two_episodes_are_compared_and_taken_elsewhere(
    page: Page, address: str, fallen: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    good, bad = fallen.episodes
    page.goto(f"{address}/compare?a={good}&b={bad}")
    expect(page.get_by_role("row", name="failure").filter(has_text="fall")).to_be_visible()
    page.get_by_role("button", name="Phase").click()
    page.wait_for_url("**align=phase**")
    expect(page.get_by_role("button", name="Phase")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("img", name="of both").first).to_be_visible()
    page.goto(f"{address}/episodes/{good}")
    page.get_by_role("button", name="Open in").click()
    below = f"{address}/api/episodes/{good}"
    expect(page.get_by_role("dialog")).to_contain_text(f'rerun "{below}/episode.rrd"')
    with page.expect_download() as download:
        page.get_by_role("link", name="Download .mcap").click()
    assert download.value.suggested_filename == "good.mcap"


def test_the_keyboard_alone_compares_two_on_one_clock_and_finds_where_they_differ(
    page: Page, address: str, fallen: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    good, bad = fallen.episodes
    page.goto(f"{address}/compare")
    expect(page.get_by_role("heading", name="Compare which episode?")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(page.locator("a.chooser-choice")).to_have_count(2)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Compare with which episode?")).to_be_visible()
    expect(page.locator("a.chooser-choice")).to_have_count(1)
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()
    page.goto(f"{address}/compare?a={good}&b={bad}")
    for letter in "AB":
        expect(page.get_by_role("group", name=f"Episode {letter}")).to_be_visible()
    # What was logged in B is on the timeline as well.
    lane = page.get_by_role("group", name="Episode B")
    expect(lane.get_by_role("listitem").filter(has_text="fall")).to_be_attached()
    page.keyboard.press("d")
    expect(page.get_by_role("status").filter(has_text="differ")).to_be_visible()
    page.keyboard.press("w")
    page.wait_for_url("**show=robot**")
    page.keyboard.press("w")
    page.wait_for_url("**show=both**")
    page.keyboard.press("w")
    page.wait_for_url("**show=one**")
    expect(page.get_by_role("img", name="Both robots in 3-D")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_role("slider", name="Time")).not_to_have_attribute("aria-valuenow", "0")
    page.goto(f"{address}/compare?a={good}&b={bad}&more={good}")
    # An episode twice is one: two are left, and they are drawn over each other.
    expect(page.get_by_role("heading", name="Compare 2 episodes")).to_be_visible()
    expect(page.get_by_role("img", name="of both").first).to_be_visible()


def test_a_phone_scrolls_down_and_never_sideways(
    browser: Browser, address: str, fallen: SmallWorkspace
) -> None:
    page = new_page(browser, width=390, height=844)
    good, bad = fallen.episodes
    for path, last in (
        (f"/episodes/{bad}", "figure.plot"),
        (f"/compare?a={good}&b={bad}", "[role=img][aria-label*='of both']"),
    ):
        page.goto(address + path)
        page.get_by_role("button", name="Play").wait_for()
        page.locator(last).first.wait_for(state="attached")
        fits(page, 390)
        comes_to(page, lambda: _bottom(page.locator("footer")), wanted=844)
    page.context.close()


def _bottom(target: Locator) -> int:
    box = at_rest(target)
    return round(box["y"] + box["height"])
