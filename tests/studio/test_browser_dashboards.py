"""Dashboards in a real browser: questions, answers, keys, and the episodes behind a mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from tests.catalog.entries import show_people
from tests.operations.made_up import fill, laboratory
from tests.studio.waiting import at_rest, fits

from corporeal.catalog.workspace import Workspace, make_workspace

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

_CUT_ANSWERS = """() => [...document.querySelectorAll(".chart-card")].filter((card) => {
  const answer = card.querySelector(".chart-answer");
  const bottom = answer.getBoundingClientRect().bottom;
  return answer.scrollHeight > answer.clientHeight || bottom > card.getBoundingClientRect().bottom;
}).map((card) => card.id)"""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A made-up laboratory instead of three episodes."""
    with make_workspace(tmp_path / "laboratory") as made:
        fill(made.database, laboratory())
        show_people(made.database)
        yield made


def _open(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    page.goto(address)
    page.wait_for_selector(".chart-card")
    expect(page.locator(".chart-card[aria-busy=true]")).to_have_count(0)


def test_every_chart_answers_and_a_mark_opens_its_episodes(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    kinds = {"": (".curve", ".bar", ".heat-cell", ".plain-table"), "/quality": (".curve", ".bar"),
             "/coverage": (".heat-cell", ".figure-value")}  # fmt: skip
    for path in ("", "/coverage", "/quality"):
        _open(page, f"{address}/dashboards{path}")
        expect(page.locator(".chart-failed")).to_have_count(0)
        cards = page.locator(".chart-card")
        expect(cards.filter(has=page.locator(".chart-answer"))).to_have_count(cards.count())
        expect(page.locator(".totals-value").first).to_have_text("179")
        for kind in kinds[path]:
            expect(page.locator(kind).first).to_be_attached()
        size = page.evaluate("[document.documentElement.scrollHeight, innerHeight]")
        assert size[0] <= size[1], f"page {path} is one screen"
        # Whole answers, and room for what is drawn, on a small screen as well.
        page.set_viewport_size({"width": 1280, "height": 720})
        at_rest(cards.last)
        assert page.evaluate(_CUT_ANSWERS) == []
        fits(page, 1280)
        page.set_viewport_size({"width": 1440, "height": 900})
    marks = page.locator("#station_failures a.mark")
    # Scrolling hides what is said of a mark: it is over before the first one is chosen.
    marks.first.scroll_into_view_if_needed()
    at_rest(marks.first)
    marks.first.focus()
    expect(marks.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(marks.nth(1)).to_be_focused()
    expect(page.locator(".chart-tip")).to_contain_text("episode")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/episodes\?query=.*station(\+|%20)%3D"))


def test_a_scope_and_a_choice_are_in_the_address(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    _open(page, f"{address}/dashboards/quality")
    page.keyboard.press("/")
    expect(page.locator(".scope-query input")).to_be_focused()
    page.keyboard.type("station = st3")
    page.keyboard.press("Enter")
    expect(page.locator("#station_failures .label")).to_have_text(["st3"])
    page.get_by_role("link", name="Coverage and cost").click()
    expect(page.locator(".scope-query input")).to_have_value("station = st3")
    expect(page.locator(".chart-card[aria-busy=true]")).to_have_count(0)
    page.select_option("#coverage_objects-rows", "operator")
    expect(page.locator("#coverage_objects .heat-corner")).to_contain_text("operator")
    _open(page, page.url)
    expect(page.locator("#coverage_objects .heat-corner")).to_contain_text("operator")


def test_a_wrong_query_is_told_in_every_card_and_can_be_mended(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    _open(page, f"{address}/dashboards/coverage?query=station+station")
    expect(page.locator("#cost .chart-failed")).to_contain_text("character 9")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#cost .figure-value").first).to_be_visible()


def test_every_chart_can_be_read_as_a_table_on_a_phone(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 390, "height": 844})
    _open(page, f"{address}/dashboards/quality")
    fits(page, 390)
    page.locator("#quality_over_time").get_by_role("button", name="Table").click()
    rows = page.locator("#quality_over_time tbody tr")
    expect(rows).to_have_count(15)
    expect(rows.first).to_contain_text("b00")


def test_a_chart_is_linked_enlarged_and_taken_along(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    _open(page, f"{address}/dashboards#cost")
    expect(page).to_have_url(re.compile("/dashboards/coverage#cost$"))
    chart = page.locator("#operator_share")
    chart.hover()
    with page.expect_download() as numbers:
        chart.get_by_role("button", name="CSV").click()
    lines = numbers.value.path().read_text().splitlines()
    assert lines[0] == "label,share of episodes,query"
    assert len(lines) > 3
    with page.expect_download() as picture:
        chart.get_by_role("button", name="PNG").click()
    with Image.open(picture.value.path()) as drawn:
        assert drawn.size[0] > 400
        assert len(drawn.convert("RGB").getcolors(1 << 20) or []) > 20, "something is drawn"
    chart.hover()
    chart.get_by_role("button", name="Enlarge").click()
    expect(page.locator(".chart-card")).to_have_count(1)
    expect(page.locator(".chart-large")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".chart-card")).not_to_have_count(1)
