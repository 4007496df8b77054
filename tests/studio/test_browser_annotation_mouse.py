"""An annotator's mouse in a real browser: boundaries are dragged, segments are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.studio.labelled import FRAMES, frames, make_task, proposal
from tests.studio.waiting import at_rest, comes_to
from tests.studio.workbench import open_bench, phases, selected

from corporeal.catalog.workspace import Workspace
from corporeal.labelling.frames import Frames
from corporeal.labelling.tasks import find_task as task_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def _open(page: Page, address: str, task: str) -> None:
    """Open the workbench and wait for all that moves the lanes when it comes."""
    open_bench(page, address, task)
    page.wait_for_selector("[data-tile] [data-frame]:not([data-frame='-1'])")
    page.wait_for_selector(".bench-plots .plot:not([data-mode=waiting])")
    at_rest(page.locator(".lanes-track"))


def _place(page: Page, line: Frames, frame: int) -> float:
    """Where a frame lies on the lanes, in pixels of the window, while the whole is shown."""
    x0, x1 = (at_rest(page.locator(f'[data-segment="{each}"]'))["x"] for each in ("p1", "p3"))
    t0, t1 = int(line.stamps[FRAMES[1]]), int(line.stamps[FRAMES[3]])
    return x0 + (int(line.stamps[frame]) - t0) / (t1 - t0) * (x1 - x0)


def _middle(page: Page, lane: str) -> float:
    """The height at which a lane lies."""
    box = at_rest(page.locator(f'[data-lane="{lane}"]'))
    return box["y"] + box["height"] / 2


def test_a_dragged_boundary_snaps_to_an_event_unless_alt_is_held(
    page: Page, address: str, workspace: Workspace
) -> None:
    _, line = frames(workspace)
    task = make_task(workspace, proposal(workspace))
    event = {
        "time_ns": int(line.stamps[70]) - 4_000_000, "name": "contact_begins", "side": "right",
        "stream": "", "confidence": 0.9, "uncertainty_ns": 0,
    }  # fmt: skip
    page.route("**/events", lambda route: route.fulfill(json=[event]))
    _open(page, address, task)
    page.wait_for_selector(".event-tick button")

    def drag(frm: int, to: float) -> None:
        middle = _middle(page, "phase")
        page.mouse.move(_place(page, line, frm), middle)
        page.wait_for_selector("[data-of=p2][data-edge=start]:hover")
        page.mouse.down()
        selected(page, "p2")
        page.mouse.move(to - 20, middle, steps=3)
        page.mouse.move(to, middle, steps=3)
        page.mouse.up()

    drag(60, _place(page, line, 70) - 5)
    comes_to(page, lambda: phases(workspace, task, line)[2], ("retract", 70, False))
    page.keyboard.down("Alt")
    drag(70, _place(page, line, 69))
    page.keyboard.up("Alt")
    comes_to(page, lambda: phases(workspace, task, line)[2], ("retract", 69, False))


def test_segments_are_drawn_split_and_begun_by_key(
    page: Page, address: str, workspace: Workspace
) -> None:
    from playwright.sync_api import expect

    _, line = frames(workspace)
    task = make_task(workspace, proposal(workspace))
    _open(page, address, task)
    y, start, end = _middle(page, "quality"), _place(page, line, 30), _place(page, line, 50)
    page.mouse.move(start, y)
    page.wait_for_selector("[data-lane=quality]:hover")
    page.mouse.down()
    page.mouse.move(end, y, steps=6)
    page.mouse.up()
    wanted = [(int(line.stamps[30]), int(line.stamps[50]))]
    comes_to(page, lambda: _drawn(workspace, task), wanted)
    page.wait_for_selector("[data-lane=quality] [data-selected=true]")
    page.keyboard.press("Escape")
    page.wait_for_selector("[data-selected=true]", state="detached")
    lane = page.get_by_role("button", name="Phases")
    lane.click()
    expect(lane).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("/")
    wanted_phases = [("rest", 0, False), ("rest", 5, True)]
    comes_to(page, lambda: phases(workspace, task, line)[:2], wanted_phases)
    page.keyboard.press("Escape")
    page.wait_for_selector("[data-selected=true]", state="detached")
    for _ in range(3):
        page.keyboard.press(".")
    page.keyboard.press("g")
    labels = [("rest", 0), ("rest", 5), ("grasp", 8)]
    comes_to(page, lambda: [each[:2] for each in phases(workspace, task, line)[:3]], labels)


def _drawn(workspace: Workspace, task: str) -> list[tuple[int, int]]:
    """Where what was drawn begins and ends, as the catalogue has it."""
    with workspace.database.read() as connection:
        content = task_of(connection, task).annotation
    return [(each.start_ns, each.end_ns) for each in content.in_lane("quality")]
