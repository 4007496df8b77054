"""Every page of Studio over 100,000 episodes: from navigation to what one came for, in Chromium.

Run: python -m bench.studio.pages
     python -m bench.studio.pages --episodes 20000 --repeats 2
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

from bench.episode.report import machine
from bench.studio.listing import fill
from bench.studio.serving import served
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import open_workspace
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.labelling.tasks import TaskOptions, create_tasks
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.operations.review import SamplingRequest, create_review
from corporeal.testing import Workload

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TARGET_MS = 1000.0
_FLAGS = ("--no-sandbox", "--disable-background-networking", "--no-first-run", "--use-gl=angle",
          "--use-angle=swiftshader", "--enable-unsafe-swiftshader")  # fmt: skip
_PICTURE = "canvas[data-frame]:not([data-frame='-1'])"
_WHAT = {
    "/": ".start-totals b",
    "/episodes": "[role=grid] .episode-table-row time",
    "/labels": ".labels-head h1, .my-tasks",
    "/labels/queues": ".queue-form, .labels-list li",
    "/review": ".review-form, .review-list, .card",
    "/releases": "h1",
    "/releases/new": "form",
    "/dashboards": ".totals-value",
    "/dashboards/quality": ".totals-value",
    "/dashboards/coverage": ".totals-value",
    "/live": ".live, main h1, main p",
    "/calibrations": ".calibrations h1, .calibrations p",
    "/floor": "main h1, main h2, main p",
    "/accounts": "h1",
    "/episodes/{0}": _PICTURE,
    "/compare": ".chooser-choice, .chooser input",
    "/compare?a={0}&b={1}": _PICTURE,
    "/annotate/{task}": _PICTURE,
    "/review/look": _PICTURE,
}
"""Pages and what one came for: rows, totals, the first picture."""

_UNTIL = """(wanted) => new Promise((resolve) => {
  const look = () => {
    const seen = [...document.querySelectorAll(wanted)].some((one) => one.offsetParent !== null);
    if (performance.now() > 30000) resolve(Infinity);
    else requestAnimationFrame(seen ? () => resolve(performance.now()) : look);
  };
  look();
})"""


def make(root: Path, episodes: int, given: list[Path]) -> dict[str, str]:
    """A workspace of made-up rows and two real episodes, a task and a review of these."""
    fill(root, episodes)
    files = given or [_record(root.parent / f"real{number}.h5") for number in range(2)]
    lead = Actor("root", "admin")
    with open_workspace(root) as workspace:
        ingest(workspace, files, who="bench", check=False, on="serial")
        with workspace.database.write() as connection:
            real = [row.id for row in every_episode(connection, f"number > {episodes}")]
            (task, *_) = create_tasks(
                connection, real[:1], open_taxonomy("manipulation"),
                TaskOptions("bench", double_share=0.0, blind_share=0.0), by=lead,
            )  # fmt: skip
            create_review(connection, "look", f"id in ({', '.join(real[:2])}) and state is known",
                          SamplingRequest(share=1), by=lead)  # fmt: skip
    return {"0": real[0], "1": real[1], "task": task.id}


def _record(path: Path) -> Path:
    workload = Workload(open_robot("g1"), duration_s=1.0, seed=int(path.stem[-1]))
    with EpisodeWriter(
        path, schema=workload.schema, embodiment=workload.embodiment,
        metadata={**workload.metadata, "task": "pick_place"},
    ) as writer:  # fmt: skip
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    return path


def visit(browser: Browser, address: str, wanted: str) -> float:
    """Milliseconds from navigation, without a cache, to the screen that has it."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    try:
        page.goto(address, wait_until="commit")
        page.wait_for_selector("#root", state="attached")
        return float(page.evaluate(_UNTIL, wanted))
    finally:
        context.close()


def measure(root: Path, known: dict[str, str], repeats: int) -> dict[str, list[float]]:
    """Every page of every round; the first round only warms the server."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    figures: dict[str, list[float]] = {}
    with served(root) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        for turn in range(repeats + 1):
            for name, wanted in _WHAT.items():
                path = name.replace("{0}", known["0"]).replace("{1}", known["1"])
                spent = visit(browser, address + path.replace("{task}", known["task"]), wanted)
                if turn:
                    figures.setdefault(name, []).append(spent)
        browser.close()
    return figures


def _report(episodes: int, figures: dict[str, list[float]], out: Path) -> bool:
    shown = Table(title=f"Pages of Studio over {episodes:,} episodes, in Chromium without a GPU")
    for head in ("page", "median", "worst", "aim"):
        shown.add_column(head)
    reached = {name: statistics.median(spent) <= TARGET_MS for name, spent in figures.items()}
    for name, spent in figures.items():
        shown.add_row(name, f"{statistics.median(spent):.0f} ms", f"{max(spent):.0f} ms",
                      f"<= {TARGET_MS:.0f} ms")  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 120).print(shown)
    out.parent.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        "bench": "studio.pages", "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(), "episodes": episodes, "figures_ms": figures, "reached": reached,
    }  # fmt: skip
    out.write_text(json.dumps(document, indent=1) + "\n")
    return all(reached.values())


def main() -> int:
    """0 when every target was met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m bench.studio.pages", description=__doc__)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3, help="rounds")
    parser.add_argument("--real", type=Path, nargs="*", default=[], help="two episode files")
    parser.add_argument("--out", type=Path, default=Path("out/bench_studio_pages.json"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-pages-") as place:
        root = Path(place) / "lab"
        known = make(root, asked.episodes, asked.real)
        figures = measure(root, known, asked.repeats)
    return 0 if _report(asked.episodes, figures, asked.out) else 1


if __name__ == "__main__":
    sys.exit(main())
