"""Waiting for what a page or a server does, however slow the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Locator, Page

SECONDS = 60.0
"""After this nothing more is hoped for; what works is there much earlier."""

_PICTURE = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def comes_to(
    page: Page | None, read: Callable[[], object], wanted: object, *, seconds: float = SECONDS
) -> None:
    """Read until it is what is wanted; what it was last is told if it never is.

    Waiting is the page's where there is one: what the browser asks of the test is answered.
    """
    until = time.monotonic() + seconds
    while (found := read()) != wanted and time.monotonic() < until:
        if page is None:
            time.sleep(0.05)
        else:
            page.wait_for_timeout(50)
    assert found == wanted, f"it is {found!r}, not {wanted!r}"


def next_picture(page: Page) -> None:
    """Return when the screen was drawn: sizes and places have been told to those who ask."""
    page.evaluate(_PICTURE)


def at_rest(target: Locator) -> FloatRect:
    """Where something lies, once it has stopped moving."""
    until = time.monotonic() + SECONDS
    target.page.evaluate("() => document.fonts.ready.then(() => null)")
    last, same = None, 0
    while same < 3 and time.monotonic() < until:
        next_picture(target.page)
        box = target.bounding_box()
        same = same + 1 if box is not None and box == last else 0
        last = box
    assert last is not None, "it cannot be seen"
    assert same == 3, "it does not come to rest"
    return last


def fits(page: Page, width: int) -> None:
    """Nothing is wider than the window, once the page has come to rest."""
    at_rest(page.locator("body"))
    comes_to(page, lambda: _is_within(page, width), wanted=True, seconds=10.0)


def _is_within(page: Page, width: int) -> bool:
    return int(page.evaluate("() => document.documentElement.scrollWidth")) <= width
