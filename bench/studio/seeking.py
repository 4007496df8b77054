"""Cameras in Studio: first picture, exact seeks and playing, measured in Chromium.

Run: python -m bench.studio.seeking --out out/bench_seeking.json

The episode is the 20 s workload of every benchmark: three cameras and depth, 640 x 480. A seek is
over when every camera has drawn the very frame of that time; depth is told beside them.
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

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.episode.report import machine
from bench.studio.serving import served
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import make_workspace
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.testing import Workload

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TARGETS = {"first_picture_ms": 1000.0, "seek_p95_ms": 100.0}
# As where there is no graphics card: the page is put together by processor, and 3-D emulated. To
# have the emulated card put the page together as well takes longer than everything else.
_FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--ignore-gpu-blocklist",
          "--enable-unsafe-swiftshader", "--disable-gpu-compositing")  # fmt: skip
# Notes when each canvas is drawn, by the number that it carries.
_WATCH = """
window.drawn = {};
window.firsts = {};
window.waiting = null;
new MutationObserver(records => {
    const now = performance.now();
    for (const {target} of records) {
        const {stream, frame} = target.dataset;
        if (!stream || frame === undefined || frame === '-1') continue;
        window.firsts[stream] ??= now;
        (window.drawn[stream] ??= []).push([now, Number(frame)]);
    }
    window.waiting?.(now);
}).observe(document, {subtree: true, attributes: true, attributeFilter: ['data-frame']});
"""
_SEEK = """async ({moment, cameras, depth}) => {
    const shown = stream => document.querySelector(`canvas[data-stream="${stream}"]`).dataset.frame;
    const all = wanted => Object.entries(wanted).every(
        ([stream, number]) => Number(shown(stream)) === number);
    const begin = performance.now();
    const found = {};
    const note = now => {
        if (found.cameras === undefined && all(cameras)) found.cameras = now - begin;
        if (found.depth === undefined && all(depth)) found.depth = now - begin;
    };
    const url = new URL(location.href);
    url.searchParams.set('t', String(moment));
    history.replaceState(null, '', url);
    await new Promise((done, fail) => {
        const timer = setTimeout(() => fail(new Error('no picture within 10 s')), 10000);
        window.waiting = now => {
            note(now);
            if (found.cameras === undefined || found.depth === undefined) return;
            clearTimeout(timer);
            done();
        };
        dispatchEvent(new PopStateEvent('popstate'));
        window.waiting(performance.now());
    });
    window.waiting = null;
    return found;
}"""


def main() -> int:
    """0 when every target was met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m bench.studio.seeking", description=__doc__)
    parser.add_argument("--seeks", type=int, default=100)
    parser.add_argument("--opens", type=int, default=5, help="fresh browsers that open the page")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the episode")
    parser.add_argument("--out", type=Path, default=Path("out/bench_seeking.json"))
    parser.add_argument(
        "--without-3d",
        action="store_true",
        help="no robot: without a GPU its drawing would be what is measured",
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-seeking-") as folder:
        name, stamps = _make(Path(folder), asked.seconds)
        with served(Path(folder) / "lab") as address:
            figures = measure(f"{address}/episodes/{name}", stamps, asked)
    reached = {name: figures[name] <= aim for name, aim in TARGETS.items()}
    _show(figures)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "bench": "studio seeking",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "without_3d": asked.without_3d,
        "figures": figures,
        "reached": reached,
    }
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(reached.values()) else 1


def _make(folder: Path, seconds: float) -> tuple[str, dict[str, Any]]:
    """A workspace with the workload; its episode's id, and the stamps of cameras and depth."""
    workload = Workload(open_robot("g1"), duration_s=seconds)
    path = folder / "workload.h5"
    with EpisodeWriter(
        path, schema=workload.schema, embodiment=workload.embodiment, metadata=workload.metadata
    ) as writer:
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    with Episode.open(path) as episode:
        stamps = {
            each: (episode[each].spec.kind, episode[each].time_ns)
            for each in episode if episode[each].spec.kind in ("video", "depth")
        }  # fmt: skip
    with make_workspace(folder / "lab") as workspace:
        ingest(workspace, [path], who="bench", check=False, on="serial")
        with workspace.database.read() as connection:
            (row,) = every_episode(connection)
    return row.id, stamps


def measure(page: str, stamps: dict[str, Any], asked: argparse.Namespace) -> dict[str, Any]:
    """All figures of a run."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    flags = [*_FLAGS, *(["--disable-3d-apis"] if asked.without_3d else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        firsts = [_open(browser, page, stamps) for _ in range(asked.opens)]
        seen = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        _opened(seen, page, stamps)
        before = _memory(browser)
        found = [_seek(seen, stamps, moment) for moment in _moments(stamps, asked.seeks)]
        rates = {f"frames_per_s_at_{rate}x": _played(seen, stamps, rate) for rate in (1, 2, 4)}
        memory = _memory(browser)
        browser.close()
    cameras = [each["cameras"] for each in found]
    depth = [each["depth"] for each in found]
    return {
        "first_picture_ms": statistics.median(first for first, _ in firsts),
        "all_pictures_ms": statistics.median(last for _, last in firsts),
        "seek_p50_ms": float(np.percentile(cameras, 50)),
        "seek_p95_ms": float(np.percentile(cameras, 95)),
        "seek_max_ms": max(cameras),
        "depth_seek_p50_ms": float(np.percentile(depth, 50)),
        "depth_seek_p95_ms": float(np.percentile(depth, 95)),
        **rates,
        "page_mb_before": before,
        "page_mb_after": memory,
    }


def _open(browser: Browser, address: str, stamps: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds from navigation to the first picture, and to all, without cache."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    _opened(page, address, stamps)
    firsts = page.evaluate("() => window.firsts")
    context.close()
    times = [firsts[each] for each in stamps]
    return min(times), max(times)


def _opened(page: Page, address: str, stamps: dict[str, Any]) -> None:
    page.add_init_script(_WATCH)
    page.goto(f"{address}?t=1000000000")
    page.wait_for_function(
        "streams => streams.every(each => each in window.firsts)", arg=list(stamps), timeout=60_000
    )


def _moments(stamps: dict[str, Any], count: int) -> list[int]:
    end = min(int(times[-1]) for _, times in stamps.values())
    return [int(each) for each in np.random.default_rng(0).integers(100_000_000, end, count)]


def _seek(page: Page, stamps: dict[str, Any], moment: int) -> dict[str, float]:
    """Milliseconds until all cameras, and until depth, show the frame of the moment."""
    frames = {kind: {path: int(np.searchsorted(times, moment, side="right")) - 1
                     for path, (is_kind, times) in stamps.items() if is_kind == kind}
              for kind in ("video", "depth")}  # fmt: skip
    found: dict[str, float] = page.evaluate(
        _SEEK, {"moment": moment, "cameras": frames["video"], "depth": frames["depth"]}
    )
    # The page keeps the moment in its address a little later; the next seek must not meet that.
    page.wait_for_timeout(300)
    return found


def _played(page: Page, stamps: dict[str, Any], rate: int, *, seconds: float = 4.0) -> float:
    """Pictures per second that the slowest camera really drew."""
    moment = int(next(iter(stamps.values()))[1][3])
    _seek(page, stamps, moment + rate)
    page.get_by_label(f"{rate} times as fast", exact=True).click()
    page.evaluate("() => { document.activeElement?.blur(); window.drawn = {}; }")
    page.keyboard.press("Space")
    page.wait_for_timeout(seconds * 1000)
    page.keyboard.press("Space")
    drawn: dict[str, list[tuple[float, int]]] = page.evaluate("() => window.drawn")
    cameras = [path for path, (kind, _) in stamps.items() if kind == "video"]
    return min(len({frame for _, frame in drawn.get(path, [])}) for path in cameras) / seconds


def _memory(browser: Browser) -> float:
    """Resident megabytes of the process that has the most: the page's own."""
    session = browser.new_browser_cdp_session()
    listed = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    pages = [Path(f"/proc/{each['id']}/status") for each in listed if each["type"] == "renderer"]
    sizes = [int(line.split()[1]) for path in pages if path.is_file()
             for line in path.read_text().splitlines() if line.startswith("VmRSS")]  # fmt: skip
    return max(sizes, default=0) / 1024


def _show(figures: dict[str, Any]) -> None:
    shown = Table(title="cameras in Studio: 3 RGB and depth, 640 x 480")
    for head in ("what", "is", "aim"):
        shown.add_column(head)
    aims = {name: f"<= {aim:.0f}" for name, aim in TARGETS.items()}
    for name, value in figures.items():
        shown.add_row(name.replace("_", " "), f"{value:.1f}", aims.get(name, ""))
    Console(width=None if sys.stdout.isatty() else 100).print(shown)


if __name__ == "__main__":
    sys.exit(main())
