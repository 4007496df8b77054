"""The operator's page in a real browser: what devices do arrives, what the robot does is shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.studio.operator_stand_in import REST, OperatorStandIn, operator_stand_in
from tests.studio.waiting import comes_to

from corporeal.teleoperation.operator_input import WRIST
from corporeal.teleoperation.webxr import from_webxr

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
# An emulated headset (MIT) of the page's development packages.
IWER = Path(__file__).parents[2] / "web" / "node_modules" / "iwer" / "build" / "iwer.min.js"
QUEST = """
const device = new IWER.XRDevice(IWER.metaQuest3);
device.installRuntime({ forceInstall: true });
window.headset = device;
"""


@pytest.fixture
def host() -> Iterator[tuple[OperatorStandIn, str]]:
    with operator_stand_in() as made:
        yield made


def _open(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_text("READY", exact=True).wait_for()


def test_keys_pointer_and_stop_reach_the_robots_side(
    host: tuple[OperatorStandIn, str], page: Page
) -> None:
    robot, address = host
    _open(page, address)
    # Messages come also while nothing is done, each with the next number.
    comes_to(page, lambda: len(robot.inputs) > 20, True)
    numbers = [each.sequence for each in robot.inputs]
    assert numbers == list(range(len(numbers)))
    assert robot.last.is_visible
    page.keyboard.down("Space")
    comes_to(page, lambda: robot.last.right and robot.last.right.clutch, True)
    assert robot.last.left is not None
    assert robot.last.left.clutch is False
    before = _place(robot)
    page.keyboard.down("ArrowUp")
    comes_to(page, lambda: bool(_place(robot)[0] - before[0] > 0.01), True)
    page.keyboard.up("ArrowUp")
    page.keyboard.up("Space")
    comes_to(page, lambda: robot.last.right and robot.last.right.clutch, False)
    _drag(page, robot)
    page.keyboard.press("Escape")
    comes_to(page, lambda: robot.commands[-1:], ["stop"])
    robot.state = {"state": "stopped", "cause": "Escape"}
    page.get_by_text("STOPPED", exact=True).wait_for()
    page.get_by_role("button", name="Reset").click()
    comes_to(page, lambda: robot.commands[-1:], ["reset"])


def _place(robot: OperatorStandIn) -> Any:
    hand = robot.last.right
    assert hand is not None
    assert hand.pose is not None
    return hand.pose[:3]


def _drag(page: Page, robot: OperatorStandIn) -> None:
    """The ring of the right hand, dragged across the picture: the hand follows, and is let go."""
    tag = page.locator(".hand-tags span").nth(1)
    box = tag.bounding_box()
    assert box is not None
    # The label hangs right of the ring and above it.
    x, y = box["x"] - 18, box["y"] + 30
    before = _place(robot)
    page.mouse.move(x, y)
    page.mouse.down()
    comes_to(page, lambda: robot.last.right and robot.last.right.clutch, True)
    page.mouse.move(x, y - 40, steps=4)
    comes_to(page, lambda: bool(_place(robot)[2] - before[2] > 0.02), True)
    ahead = _place(robot)[0]
    page.mouse.wheel(0, -200)
    comes_to(page, lambda: bool(_place(robot)[0] > ahead + 0.04), True)
    page.mouse.up()
    comes_to(page, lambda: robot.last.right and robot.last.right.clutch, False)


def test_state_pictures_and_a_lost_robot_are_told(
    host: tuple[OperatorStandIn, str], page: Page
) -> None:
    robot, address = host
    robot.welcome = {"ways": [{"name": "USB", "url": "http://localhost:8720/",
                               "todo": "adb reverse tcp:8720 tcp:8720"}]}  # fmt: skip
    _open(page, address)
    page.get_by_text("Open this page on a headset").click()
    page.get_by_text("adb reverse tcp:8720 tcp:8720").wait_for()
    canvas = page.get_by_role("img", name="What head_left sees")
    comes_to(page, lambda: canvas.get_attribute("width"), "64")
    hand = {"goal": REST["left"], "command": REST["left"], "measured": REST["left"],
            "error_m": 0.12, "reach": 1.2, "opening": 0.4}  # fmt: skip
    robot.state = {
        "state": "hold", "cause": "no input for 0.1 s", "hands": {"left": hand, "right": None},
        "limits": ["left_elbow_joint"], "near": [["left_wrist_yaw_link", "torso_link", 0.011]],
        "recording": {"state": "recording", "episode": "pick_0003", "elapsed_s": 4.2,
                      "last": {"episode": "pick_0002", "verdict": "quarantined",
                               "findings": ["A joint jumps."]}},
    }  # fmt: skip
    page.get_by_text("HOLD", exact=True).wait_for()
    for said in ("No input for 0.1 s. Engage to go on.", "left: out of reach", "120 %",
                 "left wrist yaw and torso: 11 mm apart", "At a limit: left elbow",
                 "● 4.2 s pick_0003", "quarantined", "A joint jumps."):  # fmt: skip
        page.get_by_text(said).first.wait_for()
    page.get_by_role("button", name="End").click()
    comes_to(page, lambda: robot.commands[-1:], ["end"])
    robot.is_silent = True
    page.get_by_text("NO LINK", exact=True).wait_for()
    robot.is_silent = False
    page.get_by_text("HOLD", exact=True).wait_for()


def test_a_headset_sends_what_it_sees_and_nothing_old(
    host: tuple[OperatorStandIn, str], page: Page
) -> None:
    if not IWER.is_file():
        pytest.skip("the page's development packages are not installed: run make page")
    robot, address = host
    page.add_init_script(IWER.read_text() + QUEST)
    _open(page, address)
    page.get_by_role("button", name="Enter the headset").click()
    # The heading of the desktop is not that of the headset.
    comes_to(page, lambda: "recenter" in robot.commands, True)
    _moves_as_set(page, robot, "controllers", "left", "controller")
    page.evaluate("""() => {
        headset.position.set(0.1, 1.6, 0.2);
        headset.controllers.left.updateButtonValue("squeeze", 1);
    }""")
    comes_to(page, lambda: robot.last.left and robot.last.left.is_pressed("squeeze"), True)
    assert robot.last.left is not None
    assert robot.last.left.clutch is None
    assert robot.last.head is not None
    np.testing.assert_allclose(robot.last.head[:3], [-0.2, -0.1, 1.6], atol=1e-5)
    controller = robot.last.left.source
    page.evaluate("headset.primaryInputMode = 'hand'")
    comes_to(page, lambda: robot.last.right and robot.last.right.tracker, "hand")
    assert robot.last.left is not None
    assert robot.last.left.source != controller
    _moves_as_set(page, robot, "hands", "right", "hand")
    assert robot.last.right is not None
    assert robot.last.right.joints is not None
    assert robot.last.right.pose is not None
    np.testing.assert_allclose(robot.last.right.joints[WRIST, :7], robot.last.right.pose, atol=1e-5)
    apart = robot.last.right.joints[:, :3] - robot.last.right.pose[:3]
    assert np.linalg.norm(apart, axis=1).max() < 0.25
    page.evaluate("headset.hands.right.connected = false")
    comes_to(page, lambda: robot.last.right is None or robot.last.right.pose is None, True)
    assert robot.last.left is not None
    assert robot.last.left.pose is not None
    origin = robot.last.origin
    page.evaluate("headset.recenter()")
    comes_to(page, lambda: robot.last.origin, origin + 1)
    page.evaluate("headset.updateVisibilityState('hidden')")
    comes_to(page, lambda: robot.last.is_visible, False)
    page.evaluate("headset.updateVisibilityState('visible')")
    comes_to(page, lambda: robot.last.is_visible, True)
    page.evaluate("headset.activeSession.end()")
    page.get_by_role("button", name="Enter the headset").wait_for()
    comes_to(page, lambda: robot.last.right and robot.last.right.clutch, False)


def _moves_as_set(page: Page, robot: OperatorStandIn, kind: str, side: str, tracker: str) -> None:
    """Where a device is moved by the emulator, there goes what the robot's side reads of it."""
    places = []
    comes_to(page, lambda: _pose_of(robot, side, tracker) is not None, True)
    for place in ([0.1, 1.1, -0.4], [0.3, 1.35, -0.5]):
        before = _pose_of(robot, side, tracker)
        page.evaluate(f"headset.{kind}.{side}.position.set({', '.join(map(str, place))})")
        comes_to(page, partial(_differs, robot, side, tracker, before), True)
        places.append(np.array(_pose_of(robot, side, tracker)))
    wanted = from_webxr([0.2, 0.25, -0.1, 0, 0, 0, 1])[:3]
    np.testing.assert_allclose(places[1] - places[0], wanted, atol=1e-5)


def _differs(robot: OperatorStandIn, side: str, tracker: str, before: list[float] | None) -> bool:
    return _pose_of(robot, side, tracker) not in (None, before)


def _pose_of(robot: OperatorStandIn, side: str, tracker: str) -> list[float] | None:
    hand = getattr(robot.last, side)
    if hand is None or hand.pose is None or hand.tracker != tracker:
        return None
    return [float(value) for value in hand.pose[:3]]
