"""In a real browser: every camera shows exactly the frame of the clock's time."""

from __future__ import annotations

import io
import json
import re
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tests.studio.conftest import SmallWorkspace
from tests.studio.small_workspace import SIZE, burnt_number
from tests.studio.test_movie import unpacked
from tests.studio.waiting import next_picture

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

_GO = """moment => {
    const url = new URL(location.href);
    url.searchParams.set('t', String(moment));
    history.replaceState(null, '', url);
    dispatchEvent(new PopStateEvent('popstate'));
}"""
_NOW = "Number(document.querySelector('[role=slider][aria-label=Time]').ariaValueNow)"
# Pause in the page itself: a test may be late, and at the end the same key would play it anew.
_PAUSE_AFTER = f"""passed => new Promise(done => (function look() {{
    if ({_NOW} <= passed) return requestAnimationFrame(look);
    dispatchEvent(new KeyboardEvent('keydown', {{ key: ' ', cancelable: true }}));
    done();
}})())"""
# The address keeps the moment of a paused page; the slider says the same, rounded.
_KEPT = f"""passed => {{
    const kept = Number(new URL(location.href).searchParams.get('t'));
    return {_NOW} > passed && Math.round(kept / 1e6) === {_NOW} && String(kept);
}}"""
# Drawing the robot without a graphics card takes longer than all that is tested here.
_NO_3D = """
const getContext = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
    return kind.startsWith('webgl') ? null : getContext.call(this, kind, ...more);
};
"""
_SHOWS = """wanted => Object.entries(wanted).every(([stream, frame]) =>
    document.querySelector(`canvas[data-stream="${stream}"]`)?.dataset.frame === String(frame))"""


class Watched:
    """An episode's page and what its cameras must show."""

    def __init__(self, page: Page, address: str, name: str) -> None:
        self.page, self.address, self.name = page, address, name
        page.add_init_script(_NO_3D)
        self.pictures: list[str] = []
        page.on("request", lambda asked: self.pictures.append(asked.url)
                if "/picture?" in asked.url else None)  # fmt: skip
        with urllib.request.urlopen(f"{address}/api/episodes/{name}") as answer:
            facts = json.load(answer)
        self.cameras = [each["path"] for each in facts["streams"] if each["kind"] == "video"]
        self.depth = [each["path"] for each in facts["streams"] if each["kind"] == "depth"]
        self.end_ns = int(facts["end_ns"])
        self.stamps = {path: self._stamps(path) for path in self.cameras + self.depth}

    def _stamps(self, path: str) -> NDArray[Any]:
        url = f"{self.address}/api/episodes/{self.name}/stamps?stream={path}"
        with urllib.request.urlopen(url) as answer:
            return unpacked(answer.read())[1]["time_ns"]

    def open(self, time_ns: int) -> None:
        """Open the page at a moment."""
        self.page.goto(f"{self.address}/episodes/{self.name}?t={time_ns}")
        # No pointer over a picture: the buttons there would cover the number.
        self.page.mouse.move(5, 5)
        self.wait(time_ns)

    def expected(self, time_ns: int) -> dict[str, int]:
        """The last frame at or before the time, of each camera and depth."""
        return {
            path: int(np.searchsorted(stamps, time_ns, side="right")) - 1
            for path, stamps in self.stamps.items()
        }

    def seek(self, time_ns: int) -> None:
        """Go there as a link within the page does."""
        self.page.evaluate(_GO, time_ns)
        self.wait(time_ns)

    def wait(self, time_ns: int) -> None:
        """Until every camera claims the frame of this time."""
        self.page.wait_for_function(_SHOWS, arg=self.expected(time_ns))

    def seen(self) -> dict[str, int | None]:
        """The numbers in the pictures that are really on the screen."""
        next_picture(self.page)
        shot = np.asarray(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"))
        found = {}
        for path in self.cameras:
            box = self.page.locator(f'canvas[data-stream="{path}"]').bounding_box()
            assert box is not None
            scale = min(box["width"] / SIZE[1], box["height"] / SIZE[0])
            height, width = SIZE[0] * scale, SIZE[1] * scale
            top = round(box["y"] + (box["height"] - height) / 2)
            left = round(box["x"] + (box["width"] - width) / 2)
            found[path] = burnt_number(shot[top : top + round(height), left : left + round(width)])
        return found

    def check(self, time_ns: int) -> None:
        """Every camera really shows the frame of this time."""
        expected = self.expected(time_ns)
        assert self.seen() == {path: expected[path] for path in self.cameras}, time_ns

    def play_beyond(self, passed_ms: int) -> int:
        """Play from before a time until after it; the moment at which it is paused."""
        self.page.keyboard.press(" ")
        self.page.evaluate(_PAUSE_AFTER, passed_ms)
        self.page.get_by_role("button", name="Play").wait_for()
        return int(str(self.page.wait_for_function(_KEPT, arg=passed_ms).json_value()))


@pytest.fixture
def watched(page: Page, address: str, small_workspace: SmallWorkspace) -> Watched:
    """The first episode, not yet open."""
    return Watched(page, address, small_workspace.episodes[0])


def test_random_jumps_show_the_frame_that_is_claimed_and_expected(watched: Watched) -> None:
    watched.open(1_000_000_000)
    watched.check(1_000_000_000)
    rng = np.random.default_rng(5)
    for number, time_ns in enumerate(rng.integers(60_000_000, watched.end_ns, 24).tolist()):
        watched.seek(time_ns)
        if number % 4 == 0:
            watched.check(time_ns)
    # The moment of a stamp itself, and the one before it.
    for path in watched.cameras[:2]:
        stamp = int(watched.stamps[path][41])
        for time_ns in (stamp - 1, stamp):
            watched.seek(time_ns)
            watched.check(time_ns)
    assert not watched.pictures, "the page should decode by itself"


def test_a_hundred_steps_on_and_back_pass_every_frame(watched: Watched) -> None:
    from playwright.sync_api import expect

    watched.open(int(watched.stamps[watched.cameras[0]][3]))
    reference = watched.stamps[watched.cameras[0]]
    frame = 3
    field = watched.page.get_by_label(f"Frame of {watched.cameras[0]}")
    expect(field).to_have_value(str(frame))  # From now on the keys go by its frames.
    for key, step in (("ArrowRight", 1), ("ArrowLeft", -1)):
        for number in range(100):
            watched.page.keyboard.press(key)
            frame += step
            if number % 10 == 9:
                watched.wait(int(reference[frame]))
                watched.check(int(reference[frame]))
    watched.page.keyboard.press("Shift+ArrowRight")
    watched.wait(int(reference[frame + 10]))


def test_a_camera_is_hidden_shown_and_enlarged_by_keyboard(watched: Watched) -> None:
    from playwright.sync_api import expect

    watched.open(700_000_000)
    page, camera = watched.page, watched.cameras[1]
    tiles = page.locator("[data-tile]:visible")
    every = len(watched.cameras) + len(watched.depth)
    page.get_by_role("button", name=f"Hide {camera.split('/')[1]}").focus()
    page.keyboard.press("Enter")
    expect(tiles).to_have_count(every - 1)
    page.get_by_role("button", name=f"Show {camera.split('/')[1]}").focus()
    page.keyboard.press("Enter")
    expect(tiles).to_have_count(every)
    page.keyboard.press("2")
    page.keyboard.press("f")
    expect(tiles).to_have_count(1)
    expect(tiles).to_have_attribute("data-tile", camera)
    field = page.get_by_label(f"Frame of {camera}")
    field.fill("50")
    expect(field).to_have_value("50")
    field.press("Enter")
    shown = page.locator(f'canvas[data-stream="{camera}"]')
    expect(shown).to_have_attribute("data-frame", "50")
    page.keyboard.press("Escape")
    watched.wait(int(watched.stamps[camera][50]))
    watched.check(int(watched.stamps[camera][50]))


def test_a_pause_after_playing_fast_shows_the_frame_of_that_moment(watched: Watched) -> None:
    from playwright.sync_api import expect

    watched.open(200_000_000)
    watched.page.keyboard.press("]")
    fast = watched.page.get_by_role("button", name="2x speed")
    expect(fast).to_have_attribute("aria-pressed", "true")
    for _ in range(2):
        paused_ns = watched.play_beyond(400)
        assert 400_000_000 < paused_ns < watched.end_ns
        watched.wait(paused_ns)
        watched.check(paused_ns)
        watched.seek(300_000_000)


def test_without_a_decoder_the_server_shows_the_same_frames(watched: Watched) -> None:
    watched.page.add_init_script("delete window.VideoDecoder")
    watched.open(900_000_000)
    assert watched.pictures
    watched.check(900_000_000)
    for time_ns in (3_210_000_000, 70_000_000, 1_999_999_999):
        watched.seek(time_ns)
        watched.check(time_ns)
    paused_ns = watched.play_beyond(2200)
    watched.wait(paused_ns)
    watched.check(paused_ns)


def test_a_camera_that_fails_says_so_and_comes_back_while_the_others_go_on(
    watched: Watched,
) -> None:
    watched.open(500_000_000)
    page, camera = watched.page, watched.cameras[0]
    tile = page.locator(f'[data-tile="{camera}"]')
    movie = re.compile(r"/movie\?stream=" + re.escape(quote(camera, safe="")))
    sentence = "the file is gone. Fetch it again."
    page.route(movie, lambda route: route.fulfill(status=410, json={"error": sentence}))
    page.evaluate(_GO, 3_000_000_000)
    tile.get_by_role("alert").wait_for()
    tile.get_by_text(sentence).first.wait_for()
    others = watched.expected(3_000_000_000)
    del others[camera]
    page.wait_for_function(_SHOWS, arg=others)
    page.unroute(movie)
    tile.get_by_role("button", name="Try again").click()
    page.mouse.move(5, 5)
    watched.wait(3_000_000_000)
    watched.check(3_000_000_000)
    page.route("**/api/**", lambda route: route.abort())
    page.evaluate(_GO, 1_800_000_000)
    page.locator('[data-tile] [role="alert"]').first.wait_for()
    page.unroute("**/api/**")
    watched.wait(1_800_000_000)
    watched.check(1_800_000_000)
