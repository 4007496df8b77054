"""The overview and the palette in a real browser, by keyboard alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.studio.conftest import SmallWorkspace

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def _palette(page: Page, text: str) -> Locator:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Episode, page").wait_for()
    page.keyboard.type(text)
    return page.get_by_role("listbox", name="Found").get_by_role("option", selected=True)


def test_a_lead_sees_how_much_there_is_and_gets_anywhere_by_a_few_letters(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(address)
    totals = page.get_by_role("list", name="Totals")
    expect(totals.get_by_role("link", name="3 episodes")).to_be_visible()
    expect(page.locator(".start-recording")).to_have_count(3)
    page.get_by_role("button", name="Add data").click()
    dialog = page.get_by_role("dialog", name="Add data")
    folder = small_workspace.root.resolve()
    expect(dialog.get_by_role("textbox", name="Take episodes in")).to_have_value(
        re.compile(rf"^corporeal ingest recordings -w '?{re.escape(str(folder))}'?$")
    )
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    # An episode by its number, a page, an action of the page, a setting, a word.
    expect(_palette(page, "2")).to_contain_text("Episode #2")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(small_workspace.episodes[1]))
    page.get_by_role("heading", level=1).filter(has_text="#2").wait_for()
    expect(_palette(page, "share")).to_contain_text("Share")
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name=re.compile("Share")).wait_for()
    page.keyboard.press("Escape")
    expect(_palette(page, "theme dark")).to_contain_text("Theme: dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(_palette(page, "releases")).to_contain_text("Releases")
    page.keyboard.press("Enter")
    page.wait_for_url("**/releases")
    expect(_palette(page, "no such thing")).to_contain_text("Episodes with")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_text("Go to an episode, page or saved view").wait_for()
    page.keyboard.press("Escape")

    # The list is one key away, and old links still lead to it.
    page.keyboard.press("Alt+1")
    page.wait_for_url(f"{address}/")
    page.keyboard.press("e")
    page.wait_for_url("**/episodes")
    page.goto(f"{address}/?query=failure+%3D+fall")
    page.wait_for_url(re.compile(r"/episodes\?query=failure"))
    page.locator(".list-bar-count", has_text=re.compile("^1 episode$")).wait_for()
