"""Nothing that an annotator has typed is lost when the server and the browser are killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.studio.conftest import SmallWorkspace
from tests.studio.labelled import make_task, proposal
from tests.studio.real_browser import PAUSE_MS, patient, program
from tests.studio.studio_process import StudioProcess
from tests.studio.waiting import comes_to
from tests.studio.workbench import open_bench

from corporeal.catalog.workspace import Workspace
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.tasks import edits_of
from corporeal.labelling.tasks import find_task as task_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

# Whether every edit that waits for the server is in the browser's store that survives a crash.
_IS_ON_DISK = """() => new Promise((done, fail) => {
    const waiting = Object.keys(localStorage).filter((key) => key.startsWith('studio:annotate:'));
    const asked = indexedDB.open('studio-annotate');
    asked.onerror = fail;
    asked.onsuccess = () => {
        const keys = asked.result.transaction('kept').objectStore('kept').getAllKeys();
        keys.onerror = fail;
        keys.onsuccess = () => {
            asked.result.close();
            done(waiting.length > 0 && waiting.every((key) => keys.result.includes(key)));
        };
    };
})"""
_WRITTEN = """() => [...document.querySelectorAll(
    '#bench-new-instruction, .instruction textarea')].map((each) => each.value)"""


def _typed(page: Page, dice: random.Random, count: int, expected: list[str]) -> None:
    """Write instructions and mark moments at random; `expected` collects what was typed."""
    for _ in range(count):
        text = f"Wording {len(expected)} {dice.randrange(10**6)}"
        page.keyboard.press("i")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        expected.append(text)
        page.wait_for_timeout(dice.choice([0, 0, 10, 80]))


def test_nothing_typed_is_lost_when_server_and_browser_are_killed(
    small_workspace: SmallWorkspace, workspace: Workspace, tmp_path: Path, browser: Browser
) -> None:
    task = make_task(workspace, proposal(workspace))
    studio, dice, expected = StudioProcess(small_workspace.root), random.Random(8), list[str]()
    studio.start()
    profile = tmp_path / "profile"

    def fresh() -> BrowserContext:
        return patient(browser.browser_type.launch_persistent_context(
            str(profile), executable_path=program(), args=["--no-sandbox"], slow_mo=PAUSE_MS,
            viewport={"width": 1440, "height": 900},
        ))  # fmt: skip

    context = fresh()
    try:
        for is_crash in (False, True):
            page = context.pages[0]
            open_bench(page, studio.address, task)
            _typed(page, dice, 4, expected)
            studio.kill()
            _typed(page, dice, dice.randrange(2, 5), expected)
            page.wait_for_selector(".saved-note[data-state=away]")
            half = f"Half a word {dice.randrange(10**6)}"
            page.keyboard.press("i")
            page.keyboard.type(half)
            page.wait_for_timeout(dice.choice([0, 100]))
            if is_crash:
                # Nothing of what the browser meant to write later is written.
                _wait_for_disk(page)
                _kill_browser(profile)
            else:
                context.close()
            comes_to(None, lambda: _processes(profile), [])
            studio.start()
            context = fresh()
            page = context.pages[0]
            open_bench(page, studio.address, task)
            page.keyboard.press("i")
            if not is_crash:
                # In its field, or added when the field was left.
                _has(page, half)
            page.keyboard.press("Escape")
            page.wait_for_selector(".saved-note[data-state=saved]")
            comes_to(page, lambda: _wordings(workspace, task), expected)
    finally:
        context.close()
        studio.kill()
    _compare(workspace, task, expected)


def _wait_for_disk(page: Page) -> None:
    comes_to(page, lambda: page.evaluate(_IS_ON_DISK), wanted=True)


def _has(page: Page, text: str) -> None:
    """Wait until a text is in one of the fields for instructions."""
    comes_to(page, lambda: text in page.evaluate(_WRITTEN), wanted=True)


def _processes(profile: Path) -> list[int]:
    """The processes of the browser with this profile, which this test has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if f"--user-data-dir={profile}".encode() in words:
                found.append(int(entry.name))
    return found


def _kill_browser(profile: Path) -> None:
    """End the browser without a warning."""
    for each in _processes(profile):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def _wordings(workspace: Workspace, task: str) -> list[str]:
    """What was typed, as the catalogue has it, in the order of the edits."""
    with workspace.database.read() as connection:
        made = edits_of(connection, task)
    typed = [
        step["put"]["text"]
        for each in made
        for step in json.loads(each.edit.model_dump_json())["steps"]
        if "text" in step.get("put", {})
    ]
    return [each for each in typed if each.startswith("Wording")]


def _compare(workspace: Workspace, task: str, expected: list[str]) -> None:
    """What was typed is in the catalogue: once each, in order, and in the content."""
    assert _wordings(workspace, task) == expected
    with workspace.database.read() as connection:
        made = edits_of(connection, task)
        content: Annotation = task_of(connection, task).annotation
    assert set(expected) <= {each.text for each in content.instructions}
    assert len({each.edit.id for each in made}) == len(made)
    assert all(isinstance(each, Segment) for each in content.segments)
