"""The robot in Studio's 3-D view: script time per picture, draw calls, pictures per second.

Run: python -m bench.studio.scene --out out/bench_scene.json

A G1 of 29 joints at 100 Hz with the ghost of its commands, its trails, and 20,000 points ten times
a second. Script time is what a graphics card does not take off the page; the pictures per second
are those of this machine, which may have no graphics card at all.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.episode.report import machine
from bench.studio.serving import served
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.workspace import make_workspace
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.schema import Stream
from corporeal.testing import Workload

TARGET_MS = 4.0
_SHOWN = ("observations/joint_position", "actions/joint_position_target", "debug/base_pose")
_LIDAR = Stream.model_validate(
    {"name": "lidar", "group": "observations", "kind": "points", "shape": (4,), "rate_hz": 10,
     "components": ("x", "y", "z", "intensity"), "unit": ("m", "m", "m", "1"), "frame": "lidar"}
)  # fmt: skip
_FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
          "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")  # fmt: skip
# Plays for some seconds and notes what every picture took, and what following the clock took.
_PLAY = """async (seconds) => {
    const scene = window.__studioScene;
    const draws = [], follows = [];
    let last = scene.drawn();
    scene.seek(0);
    scene.play(1);
    const begin = performance.now();
    await new Promise(done => {
        const look = () => {
            follows.push(scene.refreshMs());
            if (scene.drawn() !== last) {
                last = scene.drawn();
                draws.push(scene.drawnMs());
            }
            if (performance.now() - begin < seconds * 1000) requestAnimationFrame(look);
            else done();
        };
        requestAnimationFrame(look);
    });
    return {draws, follows, calls: scene.drawCalls(), seconds: (performance.now() - begin) / 1000};
}"""


def main() -> int:
    """0 when the target was met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m bench.studio.scene", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("out/bench_scene.json"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-scene-") as folder:
        name = _make(Path(folder), asked.seconds + 2, asked.points)
        with served(Path(folder) / "lab") as address:
            figures = measure(f"{address}/episodes/{name}", asked.seconds)
    is_reached = figures["script_ms_p50"] <= TARGET_MS
    _show(figures)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    document = {"bench": "studio scene", "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": machine(), "figures": figures, "reached": is_reached}  # fmt: skip
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if is_reached else 1


def _make(folder: Path, seconds: float, points: int) -> str:
    """A workspace with a robot that moves and a scanner that turns; the episode's id."""
    workload = Workload(open_robot("g1"), duration_s=seconds)
    streams = tuple(each for each in workload.schema.streams if each.path in _SHOWN)
    schema = workload.schema.model_copy(update={"streams": (*streams, _LIDAR)})
    rng = np.random.default_rng(0)
    path = folder / "workload.h5"
    with EpisodeWriter(
        path, schema=schema, embodiment=workload.embodiment, metadata=workload.metadata
    ) as writer:
        for stream in streams:
            times = workload.times(stream.path)
            for time_ns, value in zip(times, workload.signal(stream.path), strict=True):
                writer.append(stream.path, int(time_ns), value)
        for scan in range(round(seconds * 10)):
            cloud = rng.uniform(-3, 3, (points, 4)).astype(np.float32)
            writer.append(_LIDAR.path, scan * 100_000_000, cloud)
    with make_workspace(folder / "lab") as workspace:
        taken = ingest(workspace, [path], who="bench", check=False, on="serial")
    return str(taken.outcomes[0].id)


def measure(address: str, seconds: float) -> dict[str, Any]:
    """All figures of a run."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.goto(address)
        page.wait_for_selector('.scene canvas[data-scan="0"]', state="attached", timeout=60_000)
        page.keyboard.press("Shift+T")
        # The first pictures compile shaders; they are not what playing costs.
        page.evaluate(_PLAY, 2)
        found = page.evaluate(_PLAY, seconds)
        size = page.locator(".scene canvas").bounding_box()
        browser.close()
    draws, follows = np.array(found["draws"]), np.array(found["follows"])
    assert size is not None
    return {
        "script_ms_p50": float(np.median(draws) + np.median(follows)),
        "draw_ms_p50": float(np.median(draws)),
        "draw_ms_p95": float(np.percentile(draws, 95)),
        "follow_ms_p50": float(np.median(follows)),
        "follow_ms_p95": float(np.percentile(follows, 95)),
        "draw_calls": int(found["calls"]),
        "pictures_per_s": len(draws) / float(found["seconds"]),
        "picture": f"{size['width']:.0f} x {size['height']:.0f}",
    }


def _show(figures: dict[str, Any]) -> None:
    table = Table("figure", "value", "target", title="Studio: the robot in 3-D")
    for name, value in figures.items():
        text = f"{value:.2f}" if isinstance(value, float) else str(value)
        table.add_row(name, text, f"<= {TARGET_MS:g}" if name == "script_ms_p50" else "")
    Console().print(table)


if __name__ == "__main__":
    raise SystemExit(main())
