"""The operators' page in a real browser: certificates for leads, figures as the mode shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from tests.operations.trained import SMALL
from tests.studio.people import ADMIN

from corporeal.catalog.people import (
    Privacy,
    add_operator,
    give_certificate,
    require_certificates,
    set_privacy,
)
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.operations.operators import begin

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
LEAD = Actor("lea", "lead", privacy="managed")


def _train(workspace: Workspace) -> None:
    with workspace.database.write() as connection:
        add_operator(connection, "op0", by=LEAD, hours_before=12)
        add_operator(connection, "op1", by=LEAD)
        require_certificates(connection, "reach", SMALL, by=LEAD)
        begin(connection, "op0", "reach", "practice", SMALL, by=LEAD)
        give_certificate(connection, "op1", "reach", SMALL, by=LEAD, evidence={},
                         valid_from=datetime.now(UTC), why="known from before")  # fmt: skip


def test_a_lead_sees_certificates_and_opens_the_evidence(
    page: Page, address: str, workspace: Workspace
) -> None:
    from playwright.sync_api import expect

    _train(workspace)
    page.goto(f"{address}/operators")
    rows = page.locator(".operators-table tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("reach until")
    expect(page.locator(".operators-rule")).to_contain_text("only with a certificate")
    rows.nth(0).get_by_role("button", name="Training").click()
    training = page.get_by_role("region", name="Training of op0")
    expect(training).to_contain_text("practice")
    expect(training).to_contain_text("nothing to count yet")


def test_in_mode_data_only_there_is_no_figure_and_the_reason(
    page: Page, address: str, workspace: Workspace
) -> None:
    from playwright.sync_api import expect

    _train(workspace)
    with workspace.database.write() as connection:
        set_privacy(connection, Privacy(), by=ADMIN)
    page.goto(f"{address}/operators")
    expect(page.locator(".operators-card").first).to_contain_text("privacy mode of this workspace")
    expect(page.get_by_role("button", name="Training")).to_have_count(0)
    page.goto(f"{address}/dashboards#operator_change")
    chart = page.locator("#operator_change")
    expect(chart).to_contain_text("Figures of single people are not shown here.")
