"""A lead makes a queue, two people disagree, the lead decides by keyboard: in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.studio.label_work import People, boundaries, label_all, make_people
from tests.studio.real_browser import new_page
from tests.studio.waiting import fits

from corporeal.catalog.workspace import Workspace
from corporeal.labelling.labels import labels_of
from corporeal.labelling.tasks import find_task

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture
def people(workspace: Workspace) -> People:
    return make_people(workspace)


def _log_in(browser: Browser, address: str, people: People, name: str) -> Page:
    page = new_page(browser)
    page.goto(f"{address}/labels")
    page.get_by_label("Token").fill(people.tokens[name])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="My work").wait_for()
    return page


def _labels(browser: Browser, address: str, people: People, workspace: Workspace, name: str) -> int:
    """Somebody takes the next task on the page and labels it; which of the two they are."""
    page = _log_in(browser, address, people, name)
    page.get_by_role("button", name="Next task").wait_for()
    page.keyboard.press("n")
    page.wait_for_url("**/annotate/*")
    taken = page.url.rsplit("/", 1)[1]
    page.context.close()
    with workspace.database.write() as connection:
        held = find_task(connection, taken)
        assert held.assigned_to == name
        place = int(held.settings["place"])
        at = (30, 60) if place == 1 else (38, 66)
        label_all(connection, held, people.actor(name), at=at)
    return place


def _decided(lead: Page, count: int) -> None:
    """So many cards are decided, and the next key is heard."""
    lead.wait_for_selector(f".adjudicate[data-decided='{count}'][aria-busy=false]")


def test_from_a_query_to_labels_that_count(
    browser: Browser, address: str, people: People, workspace: Workspace
) -> None:
    from playwright.sync_api import expect

    lead = _log_in(browser, address, people, "lee")
    errors: list[str] = []
    lead.on("pageerror", lambda error: errors.append(str(error)))
    lead.goto(f"{address}/labels/queues")
    lead.get_by_label("Which episodes").fill("operator = op1")
    lead.get_by_text("1 episode makes 2 tasks").wait_for()
    lead.get_by_label("Name").fill("monday")
    lead.get_by_role("button", name="Make the queue").click()
    expect(lead.get_by_role("progressbar", name="Progress of monday")).to_have_attribute(
        "aria-valuetext", "2 not begun"
    )

    assert {_labels(browser, address, people, workspace, name) for name in ("ann", "ben")} == {1, 2}

    lead.goto(f"{address}/labels/adjudication")
    lead.get_by_role("link", name="Decide").click()
    lead.get_by_role("heading", name="In which frame does approach begin?").wait_for()
    pictures = lead.locator(".choice img")
    expect(pictures).to_have_count(2)
    expect(lead.get_by_text("ann", exact=True)).to_have_count(0)  # Whose word it is stays hidden.
    expect(pictures.nth(0)).to_have_attribute("src", re.compile("frame=30&"))
    expect(pictures.nth(1)).to_have_attribute("src", re.compile("frame=38&"))
    lead.keyboard.press("2")
    _decided(lead, 1)
    # Neither: the frame between the two, and one more.
    lead.get_by_role("heading", name="In which frame does rest begin?").wait_for()
    lead.keyboard.press("ArrowRight")
    lead.keyboard.press("ArrowRight")
    expect(pictures).to_have_count(3)
    expect(pictures.nth(2)).to_have_attribute("src", re.compile("frame=64&"))
    lead.reload()
    _decided(lead, 1)
    lead.get_by_role("heading", name="In which frame does rest begin?").wait_for()
    lead.keyboard.press("ArrowLeft")
    lead.keyboard.press("ArrowLeft")
    expect(pictures.nth(2)).to_have_attribute("src", re.compile("frame=62&"))
    lead.keyboard.press("Enter")
    _decided(lead, 2)
    lead.get_by_role("heading", name="Everything is decided").wait_for()
    lead.keyboard.press("Enter")
    lead.get_by_role("link", name="See them on the episode").click()

    timeline = lead.get_by_role("group", name="Timeline")
    expect(timeline.get_by_text("Phases", exact=True)).to_be_visible()
    expect(timeline.get_by_role("list", name="Phases: 3 items")).to_be_visible()
    episode = lead.url.split("/episodes/")[1].split("?")[0]
    with workspace.database.read() as connection:
        held = labels_of(connection, episode)
        assert held is not None
        frames = find_task(connection, str(held.task)).frames
    assert frames is not None
    assert boundaries(held.annotation) == [int(frames.stamps[38]), int(frames.stamps[62])]
    lead.context.close()
    assert not errors, errors


def test_the_pages_fit_a_phone(
    browser: Browser, address: str, people: People, workspace: Workspace
) -> None:
    lead = _log_in(browser, address, people, "lee")
    lead.set_viewport_size({"width": 390, "height": 844})
    for section in ("", "/queues", "/submitted", "/adjudication", "/people", "/comments"):
        lead.goto(f"{address}/labels{section}")
        lead.get_by_role("heading", level=1).wait_for()
        fits(lead, 390)
    lead.context.close()
