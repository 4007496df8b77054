"""The list of episodes in a real browser: by mouse, by keyboard, with mistakes, there and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.catalog.entries import entry
from tests.studio.conftest import SmallWorkspace
from tests.studio.waiting import comes_to

from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
# The page has noticed how far the list was scrolled, and will know it when one comes back.
_IS_NOTED = """() => Object.entries(sessionStorage).some(([key, value]) =>
    key.startsWith('studio.list ')
    && JSON.parse(value).top === document.querySelector('[role=grid]').scrollTop)"""


def _count(page: Page, text: str) -> None:
    page.locator(".list-bar-count", has_text=re.compile(f"^{text}$")).wait_for()


def test_a_newcomer_finds_the_fall_opens_it_and_comes_back(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes")
    _count(page, "3 episodes")
    page.get_by_role("button", name=re.compile("Failure: fall")).click()
    _count(page, "1 episode")
    expect(page.get_by_role("combobox", name="Query")).to_have_value("failure = fall")
    expect(page.get_by_role("checkbox", name="Failure fall, 1")).to_be_checked()
    page.get_by_role("link", name=re.compile("Open #2, reach")).click()
    page.wait_for_url(re.compile(small_workspace.episodes[1]))
    page.go_back()
    _count(page, "1 episode")
    # The server says what is left of the query: the box is not empty at once.
    page.get_by_role("checkbox", name="Failure fall, 1").click()
    _count(page, "3 episodes")
    expect(page.get_by_role("checkbox", name="Failure fall, 1")).not_to_be_checked()
    page.go_back()
    _count(page, "1 episode")


def test_a_number_opens_the_episode_at_the_moment_and_names_it_everywhere(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes")
    expect(page.locator(".episode-table-number")).to_have_text(["#3", "#2", "#1"])
    page.goto(f"{address}/e/2?t=1200000000")
    page.wait_for_url(re.compile(rf"/episodes/{small_workspace.episodes[1]}\?t=1200000000"))
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^#2 "))
    expect(page).to_have_title(re.compile("^#2 "))
    page.goto(f"{address}/e/17")
    expect(page.get_by_role("alert")).to_contain_text("'17' is not in the catalogue")


def test_a_wrong_query_says_where_and_what_it_would_be(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes")
    _count(page, "3 episodes")
    box = page.get_by_role("combobox", name="Query")
    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.keyboard.type("taks = reach")
    page.keyboard.press("Enter")
    said = page.get_by_role("alert")
    said.filter(has_text="at character 1").filter(has_text="did you mean task?").wait_for()
    _count(page, "3 episodes")
    page.get_by_role("button", name="Clear the query").click()
    expect(box).to_have_value("")
    expect(box).to_be_focused()
    # All letters at once: what is offered is for all of them, not for those that came first.
    page.keyboard.insert_text("oper")
    offered = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(offered).to_have_text([re.compile("^operator")])
    page.keyboard.press("ArrowDown")
    expect(offered).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(box).to_have_value("operator ")
    page.keyboard.insert_text("= ")
    expect(offered.nth(1)).to_have_text(re.compile("^op1"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(offered.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    # What can be read is shown without being asked for.
    _count(page, "1 episode")


def test_the_keyboard_alone_walks_selects_compares_and_returns_to_the_same_row(
    page: Page, address: str, workspace: Workspace
) -> None:
    with workspace.database.write() as connection:
        add_episodes(connection, [entry(number) for number in range(400)], who="tester")
    page.goto(f"{address}/?query=robot+%3D+g1&order=file")
    page.locator("#row-0 time").wait_for()
    page.locator(".list-bar-count", has_text=re.compile(r"^40\d episodes")).wait_for()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    for _ in range(8):
        page.keyboard.press("PageDown")
    page.keyboard.press("j")
    current = page.locator(".episode-table-row.current")
    current.locator("time").wait_for()
    number = int(str(current.get_attribute("id")).removeprefix("row-"))
    page.keyboard.press("x")
    page.get_by_text("1 selected").wait_for()
    page.keyboard.press("k")
    page.locator(f"#row-{number - 1}.current time").wait_for()
    page.keyboard.press("x")
    page.get_by_text("2 selected").wait_for()
    page.keyboard.press("j")
    place = f"row-{number}"
    page.locator(f"#{place}.current").wait_for()
    page.wait_for_function(_IS_NOTED)
    scroll = _scroll(page)
    assert scroll > 3000
    page.keyboard.press("c")
    page.wait_for_url(re.compile(r"/compare\?a=.+&b=.+"))
    page.go_back()
    page.locator(f"#{place}.current time").wait_for()
    comes_to(page, lambda: abs(_scroll(page) - scroll) < 2, wanted=True)
    page.keyboard.press("v")
    page.locator(".episode-tile.current").first.wait_for()
    page.wait_for_url("**view=grid**")


def test_an_empty_list_says_what_to_do(page: Page, address: str) -> None:
    page.goto(f"{address}/?query=failure+%3D+fall+and+score+%3E+2")
    page.get_by_text("No episode matches").wait_for()
    page.get_by_role("button", name=re.compile("without score > 2")).click()
    _count(page, "1 episode")


def test_a_name_that_nobody_has_is_said(page: Page, address: str) -> None:
    page.goto(f"{address}/?query=operator+%3D+zoe")
    page.get_by_text("no episode has the operator 'zoe'").first.wait_for()


def _scroll(page: Page) -> float:
    return float(page.evaluate("document.querySelector('[role=grid]').scrollTop"))
