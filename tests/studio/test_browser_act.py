"""People act on episodes in a real browser: verdicts and undo, notes on moments, a release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.studio.conftest import SmallWorkspace

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_all_that_match_are_quarantined_by_keyboard_and_taken_back(
    page: Page, address: str
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes")
    expect(page.locator(".episode-table-number")).to_have_text(["#3", "#2", "#1"])
    page.keyboard.press("x")
    page.get_by_role("button", name="Select all 3 that match").click()
    page.keyboard.press("q")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("cable in view")
    page.keyboard.press("Enter")
    toast = page.get_by_text("Quarantined 3 episodes.")
    expect(toast).to_be_visible()
    decided = page.locator(".chip.quarantined").filter(has=page.get_by_role("img"))
    expect(decided).to_have_count(3)
    page.keyboard.press("Control+z")
    expect(page.get_by_text("Taken back.")).to_be_visible()
    expect(decided).to_have_count(0)
    page.keyboard.press("t")
    expect(page.get_by_label("New tags, with commas between")).to_be_focused()
    page.keyboard.type("cable, slow")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Tagged 1 episode.")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Tag cable, 1")).to_be_visible()


def test_a_note_is_pinned_to_the_moment_and_leads_back_there(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes/{small_workspace.episodes[0]}?t=1200000000")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^#1 "))
    page.keyboard.press("m")
    dialog = page.get_by_role("dialog", name="Note at 1.200 s")
    dialog.get_by_label("Note").fill("grip slips")
    page.keyboard.press("Enter")
    expect(page.get_by_label("notes: 1 items")).to_contain_text("grip slips")
    page.get_by_role("tab", name=re.compile("notes", re.IGNORECASE)).click()
    page.keyboard.press("End")
    page.get_by_role("button", name="1.200 s").click()
    page.get_by_role("button", name="Settle").click()
    expect(page.get_by_label("notes: 1 items")).to_have_count(0)


def test_a_release_is_made_read_and_verified_without_a_terminal(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes")
    expect(page.locator(".episode-table-number")).to_have_text(["#3", "#2", "#1"])
    for key in ("x", "j", "x"):
        page.keyboard.press(key)
    page.keyboard.press("a")
    expect(page.get_by_text("Accepted 2 episodes.")).to_be_visible()
    expect(page.locator(".chip.accepted").filter(has=page.get_by_role("img"))).to_have_count(2)
    page.get_by_role("link", name="Releases").click()
    page.get_by_role("button", name="New release").click()
    form = page.get_by_role("form", name="New release")
    form.get_by_label("Name").fill("reaches")
    form.get_by_label("Which episodes").fill("number in (2, 3)")
    form.get_by_label("For training, in %").fill("100")
    expect(form.get_by_text("2 episodes")).to_be_visible()
    expect(form.get_by_text("reaches@1.0.0")).to_be_visible()
    form.get_by_role("button", name="Make the release").click()
    expect(page.get_by_role("heading", name="reaches@1.0.0", level=1)).to_be_visible()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("as released", exact=True)).to_be_visible()
    page.goto(f"{address}/e/3")
    page.get_by_role("link", name="reaches@1.0.0").click()
    page.wait_for_url(re.compile("/releases/reaches"))


def test_a_selection_is_exported_by_keyboard_and_its_folder_is_named(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes")
    expect(page.locator(".episode-table-number")).to_have_text(["#3", "#2", "#1"])
    page.keyboard.press("x")
    page.keyboard.press("Control+k")
    page.keyboard.type("export")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Export 1 episode")
    dialog.get_by_label("Format").focus()
    page.keyboard.type("mcap")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog.locator(".chip.accepted")).to_have_text("ready")
    folder = dialog.locator(".export-list code").inner_text()
    assert [each.suffix for each in (small_workspace.root / folder).glob("*.mcap")] == [".mcap"]


def test_what_is_not_there_leads_on(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes?query=task+%3D+raech")
    page.get_by_role("button", name="Search for task = reach").click()
    expect(page.locator(".episode-table-number")).to_have_count(3)
    page.goto(f"{address}/nothing")
    expect(page.get_by_role("heading")).to_have_text("Page not found")
    page.goto(f"{address}/episodes/99")
    expect(page.get_by_role("heading")).to_have_text("Episode not found")
    page.get_by_role("searchbox").focus()
    page.keyboard.type("reach")
    page.keyboard.press("Enter")
    expect(page.locator(".episode-table-number")).to_have_count(3)
    page.goto(f"{address}/compare?a=1&b=2")
    expect(page.locator(".side-head").first).to_contain_text("#1 reach")
    page.goto(f"{address}/episodes/2")
    expect(page.get_by_role("heading", level=1)).to_contain_text("#2")
