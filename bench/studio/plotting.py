"""Signals in Studio: millions of points in Chromium, and ten hours at 1 kHz on the server.

Run: python -m bench.studio.plotting --out out/bench_plotting.json

The page plots streams of 1,000,000 samples with six columns each and is panned and zoomed without
a rest; a redraw is a picture of the screen in which the window has moved.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.episode.report import machine
from bench.studio.serving import served
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import make_workspace
from corporeal.episode import EpisodeWriter
from corporeal.schema import Schema, Stream

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TARGETS = {"pan_per_s": 30.0, "zoom_per_s": 30.0}
RATE_HZ = 1000
_COLUMNS = ("fx", "fy", "fz", "tx", "ty", "tz")
_STREAMS = ("left_wrist_wrench", "right_wrist_wrench")
_PIECE = 1 << 18
# Without a graphics card Chromium draws by processor; to emulate one takes longer than the plots.
_FLAGS = ("--no-sandbox", "--disable-gpu", "--enable-precise-memory-info")
_FIRST = """() => new Promise(done => {
    const plots = () => [...document.querySelectorAll('.plot')];
    const look = () => plots().some(each => each.dataset.mode !== 'waiting')
        ? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look);
    look();
})"""
_DRIVE = """({seconds, shift}) => new Promise(done => {
    const area = document.querySelector('.plot-area');
    const box = area.getBoundingClientRect();
    const times = [];
    const begin = performance.now();
    let turn = 0;
    const step = now => {
        times.push(now);
        if (now - begin > seconds * 1000) return done(times);
        turn += 1;
        const back = Math.floor(turn / 60) % 2 ? 1 : -1;
        area.dispatchEvent(new WheelEvent('wheel', {
            deltaY: back * (shift ? 12 : 40), shiftKey: shift, bubbles: true, cancelable: true,
            clientX: box.left + box.width / 2, clientY: box.top + 10,
        }));
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""


def main() -> int:
    """0 when every target was met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m bench.studio.plotting", description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000, help="of each plotted stream")
    parser.add_argument("--seconds", type=float, default=5.0, help="of panning, and of zooming")
    parser.add_argument("--hours", type=float, default=10.0, help="of the long stream; 0: none")
    parser.add_argument("--columns", type=int, default=6, help="of the long stream")
    parser.add_argument("--out", type=Path, default=Path("out/bench_plotting.json"))
    asked = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="bench-plotting-") as folder:
        streams = [Stream(name=name, group="observations", rate_hz=RATE_HZ, shape=(6,), unit="N",
                          components=_COLUMNS) for name in _STREAMS]  # fmt: skip
        name = _make(Path(folder) / "page", streams, asked.samples)
        with served(Path(folder) / "page" / "lab") as address:
            figures |= _in_browser(f"{address}/episodes/{name}", asked.seconds)
        if asked.hours:
            long = Stream(name="long", group="observations", rate_hz=RATE_HZ,
                          shape=(asked.columns,))  # fmt: skip
            samples = round(asked.hours * 3600 * RATE_HZ)
            name = _make(Path(folder) / "long", [long], samples)
            with served(Path(folder) / "long" / "lab") as address:
                figures |= _long(f"{address}/api/episodes/{name}", asked.hours)
    reached = {name: figures[name] >= aim for name, aim in TARGETS.items()}
    _show(figures, asked.samples * len(_COLUMNS) * len(_STREAMS))
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    document = {"bench": "studio plotting", "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": machine(), "samples": asked.samples, "hours": asked.hours,
                "figures": figures, "reached": reached}  # fmt: skip
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(reached.values()) else 1


def _make(folder: Path, streams: list[Stream], samples: int) -> str:
    """A workspace with one unchecked episode of these streams; the episode's id."""
    folder.mkdir()
    schema = Schema(document="schema", name="long", version="1.0.0", streams=tuple(streams))
    path = folder / "episode.h5"
    with EpisodeWriter(path, schema=schema) as writer:
        for stream in streams:
            width = int(stream.shape[0])
            for first in range(0, samples, _PIECE):
                numbers = np.arange(first, min(first + _PIECE, samples))
                stamps = numbers * (10**9 // RATE_HZ)
                writer.extend(stream.path, stamps, _values(numbers, width))
    with make_workspace(folder / "lab") as workspace:
        ingest(workspace, [path], who="bench", check=False, on="serial")
        with workspace.database.read() as connection:
            (row,) = every_episode(connection)
    path.unlink()
    return row.id


def _values(numbers: NDArray[np.int64], width: int) -> NDArray[np.float32]:
    """Slow waves, a fast one on top, and noise."""
    random = np.random.default_rng(int(numbers[0]))
    time_s = numbers[:, None] / RATE_HZ
    column = np.arange(1, width + 1)
    waves = np.sin(time_s * column / 40) * 20 + np.sin(time_s * 31 * column)
    return (waves + random.normal(size=(len(numbers), width))).astype(np.float32)


def _in_browser(address: str, seconds: float) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        try:
            return _page_figures(browser, address, seconds)
        finally:
            browser.close()


def _page_figures(browser: Browser, address: str, seconds: float) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    figures = {"first_plot_ms": float(page.evaluate(_FIRST))}
    for number in range(len(_STREAMS)):
        page.locator(".plot[data-mode=envelope]").nth(number).wait_for()
    figures["zoom_per_s"] = _per_second(page.evaluate(_DRIVE, {"seconds": seconds, "shift": False}))
    for _ in range(3):
        page.keyboard.press("z")
    page.wait_for_timeout(500)
    moved = page.evaluate(_DRIVE, {"seconds": seconds, "shift": True})
    figures["pan_per_s"] = _per_second(moved)
    figures["pan_slowest_ms"] = float(np.percentile(np.diff(moved), 99))
    figures["page_memory_mb"] = float(page.evaluate("performance.memory.usedJSHeapSize")) / 1e6
    return figures


def _per_second(times_ms: list[float]) -> float:
    return (len(times_ms) - 1) / (times_ms[-1] - times_ms[0]) * 1000


def _long(address: str, hours: float) -> dict[str, float]:
    """Milliseconds of answers: the first, which builds the pyramid, then whole and parts."""
    end_ns = round(hours * 3600e9)

    def ask(start_ns: int, stop_ns: int) -> float:
        begun = time.perf_counter()
        query = f"stream=observations/long&start_ns={start_ns}&end_ns={stop_ns}&points=2000"
        with urlopen(f"{address}/signal?{query}") as answer:
            answer.read()
        return (time.perf_counter() - begun) * 1000

    first = ask(0, end_ns)
    whole = statistics.median(ask(0, end_ns) for _ in range(5))
    random = np.random.default_rng(0)
    parts = []
    for share in np.geomspace(0.5, 1e-6, 25):
        start = int(random.uniform(0, 1 - share) * end_ns)
        parts.append(ask(start, start + int(share * end_ns)))
    return {"long_first_ms": first, "long_whole_ms": whole,
            "long_part_p95_ms": float(np.percentile(parts, 95))}  # fmt: skip


def _show(figures: dict[str, float], points: int) -> None:
    table = Table(title=f"{points:,} points behind two plots")
    table.add_column("figure")
    table.add_column("measured", justify="right")
    table.add_column("target", justify="right")
    for name, figure in figures.items():
        aim = TARGETS.get(name)
        table.add_row(name, f"{figure:,.1f}", "" if aim is None else f">= {aim:g}")
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
