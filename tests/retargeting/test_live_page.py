"""The live page in a real browser: it draws both figures and says when nothing comes."""

from __future__ import annotations

import shutil
import threading
import time

import pytest
from tests.retargeting.live_streams import json_pose
from tests.retargeting.people import walking_person

from corporeal.embodiment.library import open_robot
from corporeal.retargeting.goal.robot_map import RobotMap, robot_map
from corporeal.retargeting.live.arrivals import Tally
from corporeal.retargeting.live.frame_solver import FrameSolver
from corporeal.retargeting.live.latency import LatencyLog
from corporeal.retargeting.live.pose_message import Announcement, PoseMessage, parse_message
from corporeal.retargeting.live.viewer import Viewer
from corporeal.retargeting.motion import HumanMotion

pytest.importorskip("pinocchio", reason="live retargeting needs the extra robot")
pytest.importorskip("websockets", reason="the page needs the extra live")

_FLAGS = (
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist", "--disable-background-networking",
)  # fmt: skip


@pytest.mark.slow
def test_the_page_shows_person_and_robot_and_warns_of_silence() -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no browser here: install Debian's package chromium")
    expect = playwright.expect
    robot, motion, done = robot_map(open_robot("g1")), walking_person(40), threading.Event()
    errors: list[str] = []
    with Viewer(robot, 0) as viewer:
        thread = threading.Thread(target=_perform, args=(viewer, robot, motion, done))
        thread.start()
        try:
            with playwright.sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=program, args=list(_FLAGS))
                page = browser.new_page(viewport={"width": 900, "height": 400})
                page.on("pageerror", lambda error: errors.append(str(error)))
                page.goto(viewer.address)
                expect(page.locator("#state")).to_have_text("g1 follows", timeout=20_000)
                expect(page.locator("#robot-name")).to_be_visible()
                names = (page.locator(f"#{who}-name") for who in ("person", "robot"))
                left, right = (name.bounding_box()["x"] for name in names)
                assert left < 450 < right
                expect(page.locator("#p95")).to_have_text("2.0")
                page.keyboard.press("m")
                assert page.get_attribute("#mirror", "aria-pressed") == "false"
                done.set()
                thread.join(timeout=5)
                until = time.monotonic() + 10
                while not page.locator("#notice").is_visible() and time.monotonic() < until:
                    viewer.tell_stale(0.7)
                expect(page.locator("#notice")).to_contain_text("No poses for 0.7 s")
                browser.close()
        finally:
            done.set()
            thread.join(timeout=5)
    assert not errors, errors


def _perform(viewer: Viewer, robot: RobotMap, motion: HumanMotion, done: threading.Event) -> None:
    solver, latency, frame = FrameSolver(robot), LatencyLog(), 0
    latency.take(0, 500_000, 1_900_000, 2_000_000)
    while not done.wait(0.05):
        person = parse_message(json_pose(motion, frame % len(motion)), Announcement())
        assert isinstance(person, PoseMessage)
        pose = solver.step(person.positions, person.confidence, {}, 1 / 120)
        assert pose is not None
        viewer.show(person, pose, latency, 120.0, Tally(received=frame))
        frame += 1
