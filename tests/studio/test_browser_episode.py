"""The page of an episode in a real browser: a newcomer finds the fall; all works by keyboard."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.request import urlopen

import av
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
    page.wait_for_url("**t=2000000000**")
    finding = page.get_by_role("listitem").filter(has_text="Task failed").first
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
    bar = page.get_by_role("separator", name="Border below Cameras, Robot")
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
    expect(page.get_by_role("button", name="Next episode")).to_be_enabled()
    page.keyboard.press("PageDown")
    page.wait_for_url(f"**/episodes/{good}")
    # The new page, not the old one, which has tabs and keys too.
    expect(page.locator("h1[title$='good.h5']")).to_be_visible()
    page.keyboard.press("c")
    page.wait_for_url(f"**/compare?a={good}")
    page.get_by_role("link", name=re.compile("^#2 ")).click()
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()


def test_panels_are_moved_saved_for_the_team_and_reset_by_keyboard(
    page: Page, address: str, fallen: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes/{fallen.episodes[1]}")
    cameras = page.get_by_role("region", name="Cameras")
    robot = page.get_by_role("region", name="Robot")
    left = at_rest(robot)["x"]
    assert left > at_rest(cameras)["x"]
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Layout")
    dialog.get_by_role("checkbox", name="Show handles to move them").check()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Move Robot to the left").press("Enter")
    comes_to(page, lambda: at_rest(robot)["x"] < at_rest(cameras)["x"], wanted=True)
    page.get_by_role("button", name="Done").press("Enter")
    page.keyboard.press("w")
    dialog.get_by_role("textbox", name="Name").fill("mirrored")
    dialog.get_by_role("checkbox", name="for the team").check()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="mirrored", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Demo").press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Timeline and plots")).to_have_count(0)
    # Without plots the timeline stays, at the foot of the page.
    expect(page.get_by_role("group", name="Timeline")).to_be_visible()
    page.reload()
    expect(cameras).to_be_visible()
    expect(page.get_by_role("region", name="Timeline and plots")).to_have_count(0)
    page.keyboard.press("w")
    dialog.get_by_role("button", name="mirrored", exact=True).press("Enter")
    page.keyboard.press("Escape")
    comes_to(page, lambda: at_rest(robot)["x"] < at_rest(cameras)["x"], wanted=True)
    page.keyboard.press("w")
    dialog.get_by_role("button", name="Reset to default").press("Enter")
    page.keyboard.press("Escape")
    comes_to(page, lambda: at_rest(robot)["x"] > at_rest(cameras)["x"], wanted=True)


def test_pictures_lie_without_gaps_are_zoomed_and_their_clip_is_saved(
    page: Page, address: str, fallen: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes/{fallen.episodes[1]}?t=2500000000")
    tile = page.locator(".view-tile").first
    page.wait_for_selector("canvas[data-frame]:not([data-frame='-1'])")
    box = at_rest(tile)
    assert box["width"] / box["height"] == pytest.approx(4 / 3, rel=0.02)
    tile.focus()
    for _ in range(4):
        page.keyboard.press("+")
    whole = tile.get_by_role("button", name=re.compile("^Show all of "))
    expect(whole).to_have_text(re.compile("^2.4"))
    page.keyboard.press("ArrowLeft")
    # A picture that is zoomed keeps its arrows for itself.
    assert page.url.endswith("t=2500000000")
    page.keyboard.press("0")
    expect(whole).to_have_count(0)
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.mouse.wheel(0, -300)
    expect(whole).to_be_visible()
    with page.expect_download() as download:
        page.keyboard.press("Shift+C")
    name = download.value.suggested_filename
    assert re.fullmatch(r"2_\w+_\d\.\d{3}s\.mp4", name), name
    with av.open(str(download.value.path())) as clip:
        assert clip.duration is not None
        assert clip.duration / 1e6 == pytest.approx(4.0, abs=0.1)


def test_command_and_state_differ_by_what_is_told_worst_joint_first(
    page: Page, address: str, fallen: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    episode = fallen.episodes[0]
    pair = "stream=observations/joint_position&against=actions/joint_position_target"
    with urlopen(f"{address}/api/episodes/{episode}/errors?{pair}") as answer:
        errors = json.load(answer)
    page.goto(f"{address}/episodes/{episode}")
    bars = page.get_by_role("list", name="Largest errors of joint_position")
    worst = bars.get_by_role("button").first
    expect(worst).to_contain_text(f"{errors[0]['largest']:.4f} rad")
    worst.press("Enter")
    page.wait_for_url(f"**t={errors[0]['at_ns']}")
    line = page.locator(f"li:has(output[data-column='{errors[0]['column']}'])")
    told, done, off = (
        float((line.locator(f"[data-of={of}]").text_content() or "").replace("\u2212", "-"))
        for of in ("commanded", "measured", "error")
    )
    assert off == pytest.approx(told - done, abs=2e-3)
    assert abs(off) == pytest.approx(errors[0]["largest"], abs=2e-3)
    button = page.get_by_role("button", name="Plot error")
    with page.expect_response(lambda answer: "against=" in answer.url and "/signal" in answer.url):
        button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")


def test_the_timeline_has_the_scale_of_the_plots_and_shows_a_picture_under_the_pointer(
    page: Page, address: str, fallen: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes/{fallen.episodes[1]}?t=3000000000")
    page.wait_for_selector(".plot[data-mode=samples]")
    for _ in range(2):
        now = at_rest(page.locator(".plot-now").first)
        head = at_rest(page.get_by_role("slider", name="Time"))
        assert now["x"] + now["width"] / 2 == pytest.approx(head["x"] + head["width"] / 2, abs=2)
        page.keyboard.press("z")
        page.wait_for_selector(".timeline-window")
    axis = at_rest(page.locator(".timeline-axis"))
    page.mouse.move(axis["x"] + axis["width"] / 2, axis["y"] + 10)
    preview = page.locator(".timeline-preview")
    expect(preview).to_be_visible()
    comes_to(page, lambda: preview.evaluate("each => each.naturalWidth > 0"), wanted=True)
    expect(page.get_by_role("tooltip")).to_contain_text("of observations/head_left")


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
    for height in (900, 700):
        page.set_viewport_size({"width": 1440, "height": height})
        lanes = page.get_by_role("group", name="Timeline")
        at_rest(lanes)
        cut = lanes.evaluate("each => each.scrollHeight - each.clientHeight")
        assert cut <= 0, f"{cut} px of the lanes are cut at {height} px"
        expect(page.get_by_role("group", name="Playing")).to_be_in_viewport(ratio=1)
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
