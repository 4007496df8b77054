"""The board in a real browser: what stations do and made, and alarms that lead to evidence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.studio.people import ADMIN
from tests.studio.test_board import NOON, collect
from tests.studio.test_live import health, serving

from corporeal.capture.broadcast import Broadcast
from corporeal.capture.health import FloorHealth, TakeHealth
from corporeal.catalog.people import Privacy, set_privacy
from corporeal.catalog.workspace import Workspace
from corporeal.studio.settings import StudioSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_a_station_is_seen_with_what_it_does_and_an_alarm_leads_to_its_evidence(
    workspace: Workspace, page: Page
) -> None:
    from playwright.sync_api import expect

    collect(workspace)
    with workspace.database.write() as connection:
        set_privacy(connection, Privacy(), by=ADMIN)
    with Broadcast(0) as recorder:
        recorder.publish(replace(
            health(), facts={"station": "s1", "operator": "ann", "task": "pick_place"},
            floor=FloorHealth("Put the cup on the tray.",
                              takes=(TakeHealth("take_0014", "recording", 42.0),)),
        ))  # fmt: skip
        settings = StudioSettings(recorders=(f"127.0.0.1:{recorder.port}",), clock=lambda: NOON)
        with serving(workspace, settings) as address:
            page.goto(f"{address}/board")
            stations = page.get_by_role("list", name="Stations")
            first, second = (stations.locator(":scope > li").nth(at) for at in (0, 1))
            expect(first).to_contain_text("Recording 0:42")
            expect(first).to_contain_text("Put the cup on the tray.")
            expect(first).to_contain_text("10 of 13 kept")
            expect(first.get_by_role("list", name="Last takes of s1").get_by_role("link")
                   ).to_have_count(10)  # fmt: skip
            expect(second).to_contain_text("No recorder")
            expect(page.locator(".board")).not_to_contain_text("ann")
            alarms = page.get_by_role("region", name="Alarms")
            expect(alarms).to_contain_text("head_left was moved by 4 mm")
            alarms.get_by_role("link", name="Its episodes").click()
            expect(page).to_have_url(re.compile(r"/episodes\?query=batch"))
            page.go_back()
            page.get_by_role("link", name="Its checks of s1").click()
            expect(page.get_by_role("heading", name="Calibrations")).to_be_visible()
