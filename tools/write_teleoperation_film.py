"""Films the operator's page while a scripted person picks the block up: run it, look, commit.

    python tools/write_teleoperation_film.py [SEED]

Writes docs/images/teleoperation.webp, a short film twice as fast as it was, and teleoperation.png,
the page at the moment when the block is up. The page looks on; who drives is
`bench.operated_pick`, over the same socket. Needs Chromium and the built page.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.operated_pick import OperatedSession

from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.control_loop import LoopTurn

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
# A picture of the film for so many ticks of 10 ms; shown for half of that.
TICKS, FILM_WIDTH, QUALITY = 24, 720, 55
WIDTH, HEIGHT = 1280, 800
# Below is the age of pictures, which means nothing where time is virtual.
SHOWN_HEIGHT = 758
# The page is told 20 times a second; so long it is waited for, ms.
SHOWN_MS = 400
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class LiveSocket:
    """A real connection with the words of Starlette's test client."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def send_json(self, data: Any) -> None:
        """A text message."""
        self.connection.send(json.dumps(data))

    def send_bytes(self, data: bytes) -> None:
        """A binary message."""
        self.connection.send(data)

    def receive(self) -> MutableMapping[str, Any]:
        """The next message."""
        message = self.connection.recv()
        return {"text": message} if isinstance(message, str) else {"bytes": message}


@contextmanager
def served(application: Any) -> Iterator[str]:
    """An application at an address of this machine."""
    server = uvicorn.Server(
        uvicorn.Config(application, port=0, lifespan="off", log_level="warning")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = server.force_exit = True
    thread.join(timeout=10)


def film(seed: int, out: Path) -> tuple[list[Image.Image], list[float]]:
    """The page every so many ticks, and how high the object was then."""
    from playwright.sync_api import sync_playwright
    from websockets.sync.client import connect

    session = OperatedSession(out, seed, pictures=True, size=(480, 640), page=StudioSettings().page)
    pictures: list[Image.Image] = []
    heights: list[float] = []
    with session.opened(), served(session.program.server.application()) as address:
        with connect(f"ws://{address}/teleoperate") as connection, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
                      "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
            )  # fmt: skip
            page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()

            def watch(turn: LoopTurn) -> None:
                if page.url == "about:blank":
                    # Who drives has said hello by now.
                    page.goto(f"http://{address}/")
                    page.get_by_label("Robot in 3-D").locator("canvas").wait_for()
                    page.wait_for_timeout(20 * SHOWN_MS)
                if turn.tick.time_ns // 10_000_000 % TICKS:
                    return
                page.wait_for_timeout(SHOWN_MS)
                page.evaluate(DRAWN)
                shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                pictures.append(shown.crop((0, 0, WIDTH, SHOWN_HEIGHT)))
                heights.append(float(session.link.things()[0].pose[2]))

            session.watch = watch
            session.operate(LiveSocket(connection))
            browser.close()
            session.watch = None
        session.settle()
    print(session.summary.outcomes, session.summary.verdicts)
    return pictures, heights


def main() -> None:
    """Write both pictures."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with tempfile.TemporaryDirectory() as folder:
        pictures, heights = film(seed, Path(folder))
    best = pictures[max(range(len(heights)), key=heights.__getitem__)]
    best.quantize(192).save(IMAGES / "teleoperation.png", optimize=True)
    height = round(SHOWN_HEIGHT * FILM_WIDTH / WIDTH)
    small = [picture.resize((FILM_WIDTH, height)) for picture in pictures]
    path = IMAGES / "teleoperation.webp"
    small[0].save(path, save_all=True, append_images=small[1:], duration=TICKS * 10 // 2, loop=0,
                  quality=QUALITY, method=4)  # fmt: skip
    print(f"{path}: {len(small)} pictures, {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
