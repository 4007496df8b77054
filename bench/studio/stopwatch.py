"""The tasks of a stopwatch, done in Chromium as a person would: how many actions, how many seconds.

An action is a click, or a key or a line that is typed. Seconds are the machine's, from the first
action to the answer on the screen, plus a second and a half for each action: the time that a
person takes to see and to move (keystroke-level estimate).

Run: python -m bench.studio.stopwatch --fall DEMO
with a workspace of corporeal demo; the laboratory in which an operator gets worse is made.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench.catalog import entries
from bench.episode.report import machine
from bench.studio.serving import served
from corporeal.catalog.episodes import EpisodeEntry, add_episodes
from corporeal.catalog.people import Privacy, set_privacy
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import make_workspace

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

HUMAN_S = 1.5
_FLAGS = ("--no-sandbox", "--disable-background-networking", "--no-first-run", "--use-gl=angle",
          "--use-angle=swiftshader", "--enable-unsafe-swiftshader")  # fmt: skip
_WAIT_MS = 60_000
_DAY_NS = 86_400 * 10**9
_SHOWN = Privacy("managed", "to measure a page", "nobody is real", "nobody", "to nobody")


@dataclass
class Stopwatch:
    """Counts what a person does on a page."""

    page: Page
    actions: list[str] = field(default_factory=list)
    begun: float = 0.0

    def click(self, target: Locator, name: str) -> None:
        """One action; the first one starts the watch."""
        self._note(name)
        target.click()

    def press(self, key: str) -> None:
        """One key, or several at once."""
        self._note(key)
        self.page.keyboard.press(key)

    def write(self, target: Locator, text: str, name: str, *, seen: Locator | None = None) -> None:
        """One line that is typed and sent, once what it finds is `seen`."""
        self._note(name)
        target.fill(text)
        if seen is not None:
            seen.filter(has_text="Episode #").wait_for()
        target.press("Enter")

    def seconds(self) -> float:
        """Machine's time since the first action."""
        return time.perf_counter() - self.begun

    def _note(self, name: str) -> None:
        if not self.actions:
            self.begun = time.perf_counter()
        self.actions.append(name)


def find_the_fall(watch: Stopwatch, address: str) -> str:
    """From the overview to the fall, and what came before it."""
    page = watch.page
    page.goto(f"{address}/")
    page.wait_for_selector(".start-totals")
    watch.press("Control+k")
    box = page.get_by_role("dialog").get_by_role("combobox")
    watch.write(box, "fall", "type fall, Enter", seen=page.get_by_role("option").first)
    page.wait_for_selector(".incident")
    said = page.locator(".incident").inner_text()
    assert "pushed" in said.lower(), said
    assert "fell" in said.lower() or "fall" in said.lower(), said
    return " ".join(said.split())


def find_who_got_worse(watch: Stopwatch, address: str) -> str:
    """From the overview to the name of the operator, from what to what and since when."""
    page = watch.page
    page.goto(f"{address}/")
    page.wait_for_selector(".start-totals")
    watch.click(page.get_by_role("link", name="Dashboards"), "open Dashboards")
    answer = page.locator("#operator_change .chart-answer")
    answer.wait_for()
    said = answer.inner_text()
    assert "op03" in said, said
    return said


def make_a_release(watch: Stopwatch, address: str) -> str:
    """From the overview to the card of a release that was not there before."""
    page = watch.page
    page.goto(f"{address}/")
    page.wait_for_selector(".start-totals")
    watch.click(page.get_by_role("link", name="Releases"), "open Releases")
    watch.click(
        page.get_by_role("link", name="New release")
        .or_(page.get_by_role("button", name="New release"))
        .first,
        "New release",
    )
    page.wait_for_selector("form")
    watch.write(page.get_by_label("Name").first, f"stopwatch{random.randrange(10**6)}", "name it")
    button = page.locator("form button[type=submit]")
    if "/new" in page.url:
        watch.click(button, "make it")
    page.wait_for_url(lambda url: "/releases/stopwatch" in url)
    page.wait_for_selector(".release-card-table, .release-card")
    return page.locator("h1").first.inner_text()


TASKS: dict[str, tuple[Callable[[Stopwatch, str], str], str, float, int]] = {
    "find a fall and what led to it": (find_the_fall, "demo", 15.0, 4),
    "which operator got worse": (find_who_got_worse, "lab", 10.0, 4),
    "make a release and open its card": (make_a_release, "demo", 60.0, 8),
}


def laboratory(root: Path) -> None:
    """Ten weeks of four operators, one of whom is worse from the seventh week on.

    Whose figures are whose is shown in the privacy mode `managed` alone: these people are invented.
    """
    draw = random.Random(7)
    begin = time.time_ns() - 70 * _DAY_NS
    made = []
    for number, entry in enumerate(next(iter(entries(400)))[:240]):
        week, operator = number // 24, f"op{number % 4:02d}"
        worse = operator == "op03" and week >= 6
        score = min(1.0, max(0.0, draw.gauss(0.55 if worse else 0.84, 0.04)))
        recorded_ns = begin + (week * 7 + number % 5) * _DAY_NS
        facts = vars(entry.row) | {"operator": operator, "score": score}
        facts["recorded_ns"] = recorded_ns
        made.append(EpisodeEntry(type(entry.row)(**facts), entry.findings))
    with make_workspace(root) as workspace, workspace.database.write() as connection:
        add_episodes(connection, made, who="bench")
        set_privacy(connection, _SHOWN, by=Actor("bench", "admin"))


def measure(demo: Path, lab: Path) -> list[dict[str, Any]]:
    """Every task once, in a browser that was never there before."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    done = []
    with served(demo) as demo_at, served(lab) as lab_at, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        for name, (act, where, most_s, most_actions) in TASKS.items():
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            context.set_default_timeout(_WAIT_MS)
            watch = Stopwatch(context.new_page())
            answer = act(watch, demo_at if where == "demo" else lab_at)
            machine_s = watch.seconds()
            context.close()
            whole_s = machine_s + HUMAN_S * len(watch.actions)
            done.append({
                "task": name, "actions": watch.actions, "machine_s": machine_s, "whole_s": whole_s,
                "answer": answer, "aim_s": most_s, "aim_actions": most_actions,
                "reached": whole_s <= most_s and len(watch.actions) <= most_actions,
            })  # fmt: skip
        browser.close()
    return done


def main() -> int:
    """0 when every aim was met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m bench.studio.stopwatch", description=__doc__)
    parser.add_argument("--fall", type=Path, required=True, help="a workspace of corporeal demo")
    parser.add_argument("--out", type=Path, default=Path("out/bench_studio_stopwatch.json"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-stopwatch-") as place:
        lab = Path(place) / "lab"
        laboratory(lab)
        done = measure(asked.fall, lab)
    shown = Table(title="Studio by the stopwatch, in Chromium without a GPU")
    for head in ("task", "actions", "machine", "with a person", "aim", "answer"):
        shown.add_column(head)
    for each in done:
        shown.add_row(each["task"], str(len(each["actions"])), f"{each['machine_s']:.1f} s",
                      f"{each['whole_s']:.0f} s", f"<= {each['aim_s']:.0f} s",
                      each["answer"][:90])  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 140).print(shown)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "bench": "studio.stopwatch", "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(), "tasks": done,
    }  # fmt: skip
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(each["reached"] for each in done) else 1


if __name__ == "__main__":
    sys.exit(main())
