"""Calibrations through the API and in a real browser: the halt, its button, the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from tests.operations.checked_station import WHY, fill_station
from tests.studio.people import open_client, token_of
from tests.studio.waiting import fits

from corporeal.catalog.audit import latest_events
from corporeal.catalog.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_halt_is_listed_and_lifted_by_those_who_may_judge_with_a_reason(
    workspace: Workspace,
) -> None:
    halt = fill_station(workspace.database)
    assert halt is not None
    token_of(workspace, "ada", "admin")
    token = token_of(workspace, "lena", "lead")
    stranger = token_of(workspace, "oskar", "operator")
    with open_client(workspace) as client:
        cells = _asked(client, "GET", "/api/calibrations", token).json()
        cell = next(each for each in cells if each["name"] == "cell")
        assert (cell["state"], cell["halt"]["why"], cell["halt"]["held"]) == ("halted", WHY, 1)
        assert cell["cameras"][0]["markers"] == ["verification_a4"]
        assert len(cell["checks"]) == 9
        path = f"/api/halts/{halt.key}/lift"
        assert _asked(client, "POST", path, stranger, {"reason": "x"}).status_code == 403
        assert _asked(client, "POST", path, token, {"reason": " "}).status_code >= 400
        done = _asked(client, "POST", path, token, {"reason": "the marker fell"})
        assert done.json() == {"key": halt.key, "count": 1, "kept": 0}
        again = _asked(client, "GET", "/api/calibrations", token).json()
    cell = next(each for each in again if each["name"] == "cell")
    assert cell["halt"] is None
    assert cell["halts"][0]["lifted_why"] == "the marker fell"
    with workspace.database.read() as connection:
        (event,) = latest_events(connection, f"halt:{halt.key}", ("halt lifted",), most=5)
    assert (event["who"], event["why"]) == ("lena", "the marker fell")


def _asked(client: TestClient, method: str, path: str, token: str, values: object = None) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    return client.request(method, path, headers=headers, json=values)


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_the_page_shows_the_halt_and_keys_alone_lift_it(
    page: Page, workspace: Workspace, address: str
) -> None:
    from playwright.sync_api import expect

    fill_station(workspace.database)
    page.goto(f"{address}/calibrations")
    card = page.get_by_role("region", name="Calibration cell")
    expect(card.locator("h2")).to_contain_text("halted")
    expect(card.locator(".calibration-halt")).to_contain_text("1 episode since the good check")
    expect(card.locator(".calibration-checks tbody tr")).to_have_count(9)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        fits(page, width)
    card.get_by_role("button", name="Lift the halt").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator("input")).to_be_focused()
    page.keyboard.type("the marker fell over")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Lifted: 1 episode is as before")
    expect(card.locator("h2")).not_to_contain_text("halted")
    expect(card.locator(".calibration-halt")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_the_chart_of_drift_opens_the_episodes_of_a_halt(
    page: Page, workspace: Workspace, address: str
) -> None:
    from playwright.sync_api import expect

    fill_station(workspace.database)
    page.goto(f"{address}/dashboards#calibration_drift")
    chart = page.locator("#calibration_drift")
    expect(chart.locator(".chart-answer")).to_contain_text("Collection is halted")
    expect(chart.locator(".dot.out")).to_have_count(1)
    chart.locator("a.mark").last.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/episodes?query=*")
    expect(page.locator("main")).to_contain_text("quarantined")
    expect(page.get_by_role("row").filter(has_text="task_")).to_have_count(1)
