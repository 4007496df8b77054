"""Every page is looked at by axe in a real browser, light and dark: no serious violation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.operations.made_up import fill, laboratory
from tests.studio.conftest import SmallWorkspace
from tests.studio.labelled import make_task, proposal
from tests.studio.real_browser import patient

from corporeal.catalog.accounts import add_account, new_token
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.operations.campaign import create_campaign
from corporeal.operations.review import SamplingRequest, create_review
from corporeal.protocol import open_protocol

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
_AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
_RUN = """() => axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations
  .filter(({impact}) => impact === 'serious' || impact === 'critical')
  .map(({id, nodes}) =>
    `${id}: ${nodes.slice(0, 3).map(({target}) => target.join(' ')).join(', ')}`))"""
_LIST = "/, /labels, /labels/queues, /labels/submitted, /labels/people, /review, /releases, \
/releases/new, /compare, /calibrations, /floor, /episodes, /campaigns, /campaigns/autumn, \
/dashboards, /dashboards/quality, /dashboards/coverage, \
/live, /guide, /accounts, /board, /operators, /login, /nothing"


@pytest.fixture
def paths(workspace: Workspace, small_workspace: SmallWorkspace) -> list[str]:
    """Every kind of page, of a workspace that has something on each."""
    first, second = small_workspace.episodes[:2]
    fill(workspace.database, laboratory())
    task = make_task(workspace, proposal(workspace))
    with workspace.database.write() as connection:
        create_review(connection, "axe", f"id in ({first}, {second}) and state is known",
                      SamplingRequest(share=1), by=Actor("root", "admin"))  # fmt: skip
        create_campaign(connection, Actor("root", "admin"), "autumn", open_protocol("pick_place"),
                        episodes=8)  # fmt: skip
    return [*_LIST.split(", "), f"/episodes/{first}", f"/compare?a={first}&b={second}",
            f"/annotate/{task}", "/review/axe"]  # fmt: skip


def _look(page: Page, address: str) -> list[str]:
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_selector("main *, .frame *, form")
    page.evaluate(_AXE.read_text())
    found: list[str] = page.evaluate(_RUN)
    return found


@pytest.mark.skipif(not _AXE.is_file(), reason="axe-core is missing: npm ci in web/")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_a_serious_violation(
    browser: Browser, address: str, paths: list[str], theme: str
) -> None:
    context = patient(browser.new_context(
        viewport={"width": 1440, "height": 900}, bypass_csp=True,
        color_scheme="dark" if theme == "dark" else "light",
    ))  # fmt: skip
    page = context.new_page()
    violations = {path: found for path in paths if (found := _look(page, f"{address}{path}"))}
    context.close()
    assert not violations


@pytest.mark.skipif(not _AXE.is_file(), reason="axe-core is missing: npm ci in web/")
def test_dialogs_a_phone_and_a_guest_have_no_serious_violation(
    browser: Browser, address: str, paths: list[str], workspace: Workspace
) -> None:
    first = next(path for path in paths if path.startswith("/episodes/"))
    found: dict[str, list[str]] = {}
    phone = patient(browser.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True))
    page = phone.new_page()
    for path in ("/", "/episodes", first, "/operators", "/review/axe", "/releases/new", "/login"):
        found[f"phone {path}"] = _look(page, f"{address}{path}")
    phone.close()
    desk = patient(browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True))
    page = desk.new_page()
    for path, key in (("/episodes", "?"), ("/episodes", "Control+k"), (first, "m"), (first, "t")):
        page.goto(f"{address}{path}")
        page.wait_for_load_state("networkidle")
        page.keyboard.press(key)
        found[f"{path} {key}"] = _opened(page)
    for path, name in (("/episodes", "Help"), ("/episodes", "Views"), ("/episodes", "Columns"),
                       (first, "Share")):  # fmt: skip
        page.goto(f"{address}{path}")
        page.get_by_role("button", name=name, exact=False).first.click()
        found[f"{path} {name}"] = _opened(page)
    desk.close()
    guest = patient(browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True))
    link = _share(workspace, address, first, guest)
    found["guest"] = _look(guest.new_page(), link)
    guest.close()
    assert not {path: violations for path, violations in found.items() if violations}


def _opened(page: Page) -> list[str]:
    page.get_by_role("dialog").wait_for()
    page.evaluate(_AXE.read_text())
    found: list[str] = page.evaluate(_RUN)
    return found


def _share(workspace: Workspace, address: str, path: str, context: BrowserContext) -> str:
    """A link to an episode of a workspace that has accounts from now on."""
    with workspace.database.write() as connection:
        root = Actor("root", "admin")
        add_account(connection, "ada", "admin", by=root)
        token = new_token(connection, "ada", "axe", by=root)
    answer = context.request.post(
        f"{address}/api/shares",
        data={"episodes": [path.rpartition("/")[2]], "address": path, "label": "", "days": 1},
        headers={"Authorization": f"Bearer {token}", "X-Studio": "1"},
    )
    assert answer.ok, answer.text()
    return f"{address}{answer.json()['path']}"
