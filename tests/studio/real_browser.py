"""The system's Chromium, and windows of it: all made alike, and slowed down alike on demand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.studio.waiting import SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

SLOWER = max(1.0, float(os.environ.get("STUDIO_TESTS_SLOWER", "1")))
"""How many times slower the browser is made, to see whether a test waits for the page."""

PAUSE_MS = 0.0 if SLOWER == 1 else 5 * SLOWER
"""Between any two things that a test asks of a browser that is slowed down."""

FLAGS = (
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip


def program() -> str | None:
    """Where the browser is; None where there is none."""
    return shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def browser_open() -> Iterator[Browser]:
    """The browser, in which everything may take its time."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program(), args=list(FLAGS), slow_mo=PAUSE_MS, timeout=SECONDS * 1000
        )
        yield opened
        opened.close()


def patient(context: BrowserContext) -> BrowserContext:
    """The same, with time for everything, and its windows slow where that is asked for."""
    context.set_default_timeout(SECONDS * 1000)
    for page in context.pages:
        _slow_down(page)
    return context


def new_page(browser: Browser, *, width: int = 1440, height: int = 900) -> Page:
    """A fresh window, as another person on another machine would have it."""
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    patient(context)
    return page


def _slow_down(page: Page) -> None:
    """Make a window as slow as on a busy machine far from its server."""
    if SLOWER == 1:
        return
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    session.send("Network.enable")
    conditions = {"offline": False, "latency": 40 * SLOWER}
    conditions |= {"downloadThroughput": -1, "uploadThroughput": -1}
    session.send("Network.emulateNetworkConditions", conditions)
