"""The list of episodes in Studio, with 100,000 of them, measured in Chromium.

Run: python -m bench.studio.listing
     python -m bench.studio.listing --episodes 20000 --repeats 3
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench.catalog import entries
from bench.episode.report import machine
from bench.studio.serving import served
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.workspace import make_workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TARGET_MS = 1000.0
FLUID_MS = 33.0
"""A picture of the screen while it scrolls: 30 a second."""
_FLAGS = ("--no-sandbox", "--disable-background-networking", "--no-first-run")
_ROWS = "[role=grid] .episode-table-row time"

# Waits in the page itself, picture by picture: a question from outside would cost more than a row.
_UNTIL = """({ done, begin }) => new Promise((resolve) => {
  const holds = new Function(`return ${done}`);
  const from = begin ?? performance.now();
  const look = () => holds() ? resolve(performance.now() - from) : requestAnimationFrame(look);
  look();
})"""
_FRAMES = """async ({ steps }) => {
  const list = document.querySelector("[role=grid]");
  const spent = [];
  let last = performance.now();
  for (let step = 0; step < steps; step += 1) {
    list.scrollTop += 240;
    await new Promise(requestAnimationFrame);
    spent.push(performance.now() - last);
    last = performance.now();
  }
  return spent;
}"""


def fill(root: Path, episodes: int) -> None:
    """A workspace with made-up rows and no files: a list needs none."""
    with make_workspace(root) as workspace:
        for group in entries(episodes):
            with workspace.database.write() as connection:
                add_episodes(connection, group, who="bench")


def opened(page: Page, address: str) -> float:
    """From navigation to the first rows, without a cache."""
    page.goto(f"{address}/episodes", wait_until="commit")
    page.wait_for_selector("#root")
    done = f"document.querySelectorAll('{_ROWS}').length > 5"
    return float(page.evaluate(_UNTIL, {"done": done, "begin": 0}))


def counted(page: Page) -> float:
    """From navigation to the count of all and the facets."""
    facets = "document.querySelectorAll('.facet-group-value').length > 5"
    count = "/[0-9] episodes/.test(document.querySelector('.list-bar-count').textContent)"
    done = f"{facets} && {count}"
    return float(page.evaluate(_UNTIL, {"done": done, "begin": 0}))


def jumped(page: Page, share: float) -> float:
    """From a leap of the scroll bar to the rows that are there."""
    page.evaluate(f"""() => {{
        const list = document.querySelector('[role=grid]');
        list.scrollTop = list.scrollHeight * {share};
    }}""")
    done = """(() => {
        const list = document.querySelector('[role=grid]').getBoundingClientRect();
        const rows = [...document.querySelectorAll('.episode-table-row')].filter((row) => {
            const box = row.getBoundingClientRect();
            return box.bottom > list.top + 40 && box.top < list.bottom;
        });
        return rows.length > 5 && rows.every((row) => row.querySelector('time'));
    })()"""
    return float(page.evaluate(_UNTIL, {"done": done, "begin": None}))


def filtered(page: Page) -> float:
    """From Enter behind a query to its count; the old rows stay until the new ones are there."""
    before = page.locator(".list-bar-count").inner_text()
    page.keyboard.press("/")
    page.keyboard.insert_text("task = reach and verdict = failed")
    shown = "document.querySelector('.list-bar-count').textContent"
    done = f"!['', 'counting…', {before!r}].includes({shown})"
    page.keyboard.press("Enter")
    return float(page.evaluate(_UNTIL, {"done": done, "begin": None}))


def scrolled(page: Page) -> list[float]:
    """Milliseconds of each picture while the list rolls."""
    return [float(each) for each in page.evaluate(_FRAMES, {"steps": 90})]


def one_round(browser: Browser, address: str) -> dict[str, float]:
    """All figures of one visit, in milliseconds."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    try:
        spent = {"first rows": opened(page, address), "count and facets": counted(page)}
        spent["jump to the middle"] = jumped(page, 0.5)
        spent["jump to nine tenths"] = jumped(page, 0.9)
        spent["picture while scrolling, p95"] = statistics.quantiles(scrolled(page), n=20)[-1]
        spent["filter"] = filtered(page)
        return spent
    finally:
        context.close()


def measure(root: Path, repeats: int) -> dict[str, list[float]]:
    """Every figure of every visit; the first visit only warms the server."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    figures: dict[str, list[float]] = {}
    with served(root) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        one_round(browser, address)
        for _ in range(repeats):
            for name, spent in one_round(browser, address).items():
                figures.setdefault(name, []).append(spent)
        browser.close()
    return figures


def _report(episodes: int, figures: dict[str, list[float]], out: Path) -> bool:
    shown = Table(title=f"Studio's list of {episodes:,} episodes, in Chromium")
    for head in ("what", "median", "worst", "aim"):
        shown.add_column(head)
    reached: dict[str, bool] = {}
    for name, spent in figures.items():
        aim = FLUID_MS if "scrolling" in name else TARGET_MS
        reached[name] = statistics.median(spent) <= aim
        shown.add_row(name, f"{statistics.median(spent):.0f} ms", f"{max(spent):.0f} ms",
                      f"<= {aim:.0f} ms")  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 120).print(shown)
    out.parent.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        "bench": "studio.listing", "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(), "episodes": episodes, "figures_ms": figures, "reached": reached,
    }  # fmt: skip
    out.write_text(json.dumps(document, indent=1) + "\n")
    return all(reached.values())


def main() -> int:
    """0 when every target was met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m bench.studio.listing", description=__doc__)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5, help="visits")
    parser.add_argument("--workspace", type=Path, help="one that is there already")
    parser.add_argument("--out", type=Path, default=Path("out/bench_studio_listing.json"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-listing-") as place:
        root = asked.workspace or Path(place) / "lab"
        if asked.workspace is None:
            fill(root, asked.episodes)
        figures = measure(root, asked.repeats)
    return 0 if _report(asked.episodes, figures, asked.out) else 1


if __name__ == "__main__":
    sys.exit(main())
