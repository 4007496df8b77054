"""The live page in a real browser: it draws both figures and says when nothing comes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.retargeting.live_streams import json_pose
from tests.retargeting.people import walking_person
from tests.studio.real_browser import new_page
from tests.studio.waiting import SECONDS, comes_to

from corporeal.embodiment import open_robot
from corporeal.retargeting.goal.robot_map import RobotMap, robot_map
from corporeal.retargeting.live.frame_solver import FrameSolver
from corporeal.retargeting.live.inlet import ArrivalTally, LatencyLog
from corporeal.retargeting.live.pose_message import Announcement, PoseMessage, parse_message
from corporeal.retargeting.live.viewer import Viewer
from corporeal.retargeting.motion import HumanMotion

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("pinocchio", reason="live retargeting needs the extra robot")
pytest.importorskip("websockets", reason="the page needs the extra live")


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_the_page_shows_person_and_robot_and_warns_of_silence(browser: Browser) -> None:
    from playwright.sync_api import expect

    robot, motion, done = robot_map(open_robot("g1")), walking_person(40), threading.Event()
    errors: list[str] = []
    with Viewer(robot, 0) as viewer:
        thread = threading.Thread(target=_perform, args=(viewer, robot, motion, done))
        thread.start()
        try:
            page = new_page(browser, width=900, height=400)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(viewer.address)
            expect(page.locator("#state")).to_have_text("g1 follows")
            expect(page.locator("#robot-name")).to_be_visible()
            # The names follow the figures, which move.
            comes_to(page, lambda: _left_to_right(page), ["person", "robot"])
            expect(page.locator("#p95")).to_have_text("2.0")
            page.keyboard.press("m")
            expect(page.locator("#mirror")).to_have_attribute("aria-pressed", "false")
            done.set()
            thread.join(timeout=SECONDS)
            comes_to(page, lambda: _is_told(viewer, page), wanted=True)
            expect(page.locator("#notice")).to_contain_text("No poses for 0.7 s")
            page.context.close()
        finally:
            done.set()
            thread.join(timeout=SECONDS)
    assert not errors, errors


def _left_to_right(page: Page) -> list[str]:
    """Who is named on the left half of the window, and who on the right."""
    boxes = {who: page.locator(f"#{who}-name").bounding_box() for who in ("person", "robot")}
    places = {who: box["x"] for who, box in boxes.items() if box is not None}
    is_apart = len(places) == 2 and min(places.values()) < 450 < max(places.values())
    return sorted(places, key=lambda who: places[who]) if is_apart else []


def _is_told(viewer: Viewer, page: Page) -> bool:
    viewer.tell_stale(0.7)
    return page.locator("#notice").is_visible()


def _perform(viewer: Viewer, robot: RobotMap, motion: HumanMotion, done: threading.Event) -> None:
    solver, latency, frame = FrameSolver(robot), LatencyLog(), 0
    latency.take(0, 500_000, 1_900_000, 2_000_000)
    while not done.wait(0.05):
        person = parse_message(json_pose(motion, frame % len(motion)), Announcement())
        assert isinstance(person, PoseMessage)
        pose = solver.step(person.positions, person.confidence, {}, 1 / 120)
        assert pose is not None
        viewer.show(person, pose, latency, 120.0, ArrivalTally(received=frame))
        frame += 1
