"""Takes the pictures of Studio that the documents show, in Chromium, from the demo's workspace.

Run: python -m bench.studio.pictures DEMO            # docs/images/studio*.png: look at them, commit
     python -m bench.studio.pictures DEMO --film      # docs/images/studio_film.webp
     python -m bench.studio.pictures DEMO --every FOLDER   # every page, three sizes, light and dark
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from bench.studio.serving import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
SIZES = {
    "film": (1200, 760),
    "tall": (1440, 1000),
    "desk": (1440, 900),
    "laptop": (1280, 720),
    "phone": (390, 844),
}
_COLOURS = 200
_MOST_BYTES = 600_000
_LONGEST_MS = 60_000
_FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
          "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--no-first-run",
          "--disable-background-networking")  # fmt: skip
_DRAWN = """() => [...document.querySelectorAll('[data-tile]')].every(
  (tile) => !/loading|not yet/.test(tile.textContent))"""
_PAGES = ("/", "/episodes", "/episodes?view=grid", "/labels", "/labels/queues",
          "/labels/submitted", "/labels/people", "/review", "/releases",
          "/releases/new", "/compare", "/calibrations", "/operators", "/floor", "/campaigns",
          "/dashboards", "/dashboards/quality", "/dashboards/coverage", "/live", "/guide",
          "/accounts", "/nothing")  # fmt: skip


@dataclass(frozen=True)
class Demo:
    """The episodes of the demo that are shown, and the moment of the fall."""

    good: str
    fallen: str
    fell_ns: int


def read_demo(address: str) -> Demo:
    """Which episodes are which; raises where the workspace is no demo."""
    rows = _answer(address, "/episodes?order=number")["rows"]
    good = next(row["id"] for row in rows if row["success"])
    fallen = next(row["id"] for row in rows if row["failure"] == "fall")
    findings = _answer(address, f"/episodes/{fallen}")["findings"]
    fell = next(each for each in findings if each["check"] == "robot_fell")
    return Demo(good, fallen, int(fell["spans"][0]["start_ns"]))


def _answer(address: str, path: str) -> Any:
    with urllib.request.urlopen(f"{address}/api{path}") as answer:
        return json.load(answer)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's browser, which draws without a GPU."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield browser
        browser.close()


@contextmanager
def window(browser: Browser, size: str = "desk", *, is_dark: bool = False) -> Iterator[Page]:
    """A fresh window of one of the sizes."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if is_dark else "light"
    )
    context.set_default_timeout(_LONGEST_MS)
    yield context.new_page()
    context.close()


def shot(page: Page) -> Image.Image:
    """The page once it stands still: pictures drawn, and two looks after each other the same."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function(_DRAWN)
    before = b""
    for _ in range(20):
        page.wait_for_timeout(400)
        seen = page.screenshot()
        if seen == before:
            break
        before = seen
    return Image.open(io.BytesIO(before)).convert("RGB")


def save(picture: Image.Image, name: str) -> None:
    """As a PNG of few colours, small enough for a repository."""
    path = IMAGES / f"{name}.png"
    picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < _MOST_BYTES, path


def take_documents(browser: Browser, address: str, demo: Demo) -> None:
    """The pictures of README and guides."""
    with window(browser, "tall") as page:
        page.goto(f"{address}/episodes/{demo.good}?t=5200000000")
        save(shot(page), "studio")
    with window(browser) as page:
        page.goto(f"{address}/episodes/{demo.fallen}?t={demo.fell_ns}")
        page.get_by_role("button", name="Go to the fall").wait_for()
        save(shot(page), "studio_fall")
    with window(browser) as page:
        page.goto(f"{address}/episodes")
        save(shot(page), "studio_browse")


def take_film(browser: Browser, address: str, demo: Demo) -> None:
    """A fall found in the list, looked at frame by frame, and tagged: some twenty looks."""
    looks: list[tuple[Image.Image, int]] = []
    with window(browser, "film") as page:
        page.goto(f"{address}/episodes")
        looks.append((shot(page), 1500))
        page.get_by_role("button", name="Failure: fall").click()
        page.get_by_role("status").get_by_text("1 episode").wait_for()
        looks.append((shot(page), 1300))
        page.goto(f"{address}/episodes/{demo.fallen}")
        page.get_by_role("button", name="Go to the fall").wait_for()
        looks.append((shot(page), 1500))
        page.get_by_role("button", name="Go to the fall").click()
        looks.append((shot(page), 700))
        for _ in range(14):
            for _ in range(3):
                page.keyboard.press("ArrowRight")
            page.wait_for_timeout(250)
            page.wait_for_function(_DRAWN)
            looks.append((_look(page), 140))
        looks.append((looks[-1][0], 1200))
        page.keyboard.press("t")
        page.get_by_label("New tags, with commas between").fill("pushed, fall")
        looks.append((_look(page), 1200))
        page.keyboard.press("Enter")
        page.get_by_text("Tagged 1 episode.").wait_for()
        page.wait_for_function(_DRAWN)
        page.wait_for_timeout(2500)
        looks.append((_look(page), 2500))
    path = IMAGES / "studio_film.webp"
    first, *more = (look for look, _ in looks)
    first.save(path, save_all=True, append_images=more, duration=[ms for _, ms in looks], loop=0,
               quality=60, method=4)  # fmt: skip
    assert path.stat().st_size < 2_000_000, path


def _look(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def take_every_page(browser: Browser, address: str, demo: Demo, folder: Path) -> None:
    """Every page in three sizes, light and dark, as JPEG to look through."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [*_PAGES, f"/episodes/{demo.good}", f"/episodes/{demo.fallen}?t={demo.fell_ns}",
             f"/compare?a={demo.good}&b={demo.fallen}"]  # fmt: skip
    for size in ("desk", "laptop", "phone"):
        for is_dark in (False, True):
            for path in paths:
                with window(browser, size, is_dark=is_dark) as page:
                    page.goto(address + path)
                    name = path.partition("?")[0].strip("/").replace("/", "_")[:40] or "start"
                    name += "_grid" if "view=grid" in path else ""
                    theme = "dark" if is_dark else "light"
                    shot(page).save(folder / f"{name}_{size}_{theme}.jpg", quality=85)


def main() -> int:
    """Take them from a copy of the demo, which stays as it is."""
    parser = argparse.ArgumentParser(prog="python -m bench.studio.pictures", description=__doc__)
    parser.add_argument("demo", type=Path, help="a workspace of corporeal demo")
    parser.add_argument("--film", action="store_true", help="docs/images/studio_film.webp alone")
    parser.add_argument("--every", type=Path, help="a folder for every page in every size")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-pictures-") as place:
        copy = Path(place) / "demo"
        shutil.copytree(asked.demo, copy)
        with served(copy) as address, chromium() as browser:
            demo = read_demo(address)
            if asked.film:
                take_film(browser, address, demo)
            elif asked.every is None:
                take_documents(browser, address, demo)
            else:
                take_every_page(browser, address, demo, asked.every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
