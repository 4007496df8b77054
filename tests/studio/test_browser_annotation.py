"""An annotator at work in a real browser: by keyboard, alone and with somebody else."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image
from tests.studio.labelled import FRAMES, LEAD, frames, make_task, proposal
from tests.studio.small_workspace import burnt_number
from tests.studio.waiting import comes_to, fits
from tests.studio.workbench import open_bench, phases, selected

from corporeal.catalog.workspace import Workspace
from corporeal.labelling.annotation import Edit
from corporeal.labelling.tasks import edits_of, save_edits
from corporeal.labelling.tasks import find_task as task_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_proposals_are_verified_with_one_key_each(
    page: Page, address: str, workspace: Workspace
) -> None:
    _, line = frames(workspace)
    task = make_task(workspace, proposal(workspace))
    open_bench(page, address, task)
    for place in range(4):
        selected(page, f"p{place}")
        page.keyboard.press("Enter")
    page.get_by_text("all 4 confirmed").wait_for()
    comes_to(page, lambda: phases(workspace, task, line), [
        ("rest", 0, True), ("approach", 20, True), ("retract", 60, True), ("rest", 90, True)
    ])  # fmt: skip
    with workspace.database.read() as connection:
        assert [each.edit.action for each in edits_of(connection, task)] == ["accept"] * 4


def test_one_key_nudges_relabels_removes_undoes_and_does_again(
    page: Page, address: str, workspace: Workspace
) -> None:
    _, line = frames(workspace)
    task = make_task(workspace, proposal(workspace))
    open_bench(page, address, task)
    selected(page, "p0")
    page.keyboard.press("Enter")
    selected(page, "p1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("g")
    wanted = [("rest", 0, True), ("grasp", 21, False)]
    comes_to(page, lambda: phases(workspace, task, line)[:2], wanted)
    with workspace.database.read() as connection:
        content = task_of(connection, task).annotation.in_lane("phase")
    assert content[0].end_ns == content[1].start_ns == int(line.stamps[21])
    page.keyboard.press("Backspace")
    left = ["rest", "retract", "rest"]
    comes_to(page, lambda: [each[0] for each in phases(workspace, task, line)], left)
    for _ in range(5):
        page.keyboard.press("u")
    comes_to(page, lambda: phases(workspace, task, line)[1], ("approach", 20, False))
    page.reload()
    selected(page, "p1")
    for _ in range(4):
        page.keyboard.press("Shift+U")
    comes_to(page, lambda: phases(workspace, task, line)[1], ("grasp", 21, False))


def test_the_filmstrip_shows_exactly_the_frames_around_the_boundary(
    page: Page, address: str, workspace: Workspace
) -> None:
    task = make_task(workspace, proposal(workspace))
    open_bench(page, address, task)
    selected(page, "p0")
    page.keyboard.press("Enter")
    selected(page, "p1")
    first = FRAMES[1]
    page.wait_for_selector(f'.filmstrip-picture[data-boundary=true][data-frame="{first}"]')
    for frame in range(first - 4, first + 5):
        comes_to(page, partial(_number_shown, page, frame), frame)
    page.locator(f'.filmstrip-picture[data-frame="{first + 3}"]').click()
    _, line = frames(workspace)
    comes_to(page, lambda: phases(workspace, task, line)[1], ("approach", first + 3, False))


def _number_shown(page: Page, frame: int) -> int | None:
    """The number that can be read in the picture of a frame; None before it is loaded."""
    shown = page.locator(f'.filmstrip-picture[data-frame="{frame}"] .filmstrip-shown')
    return burnt_number(np.asarray(Image.open(io.BytesIO(shown.screenshot())).convert("RGB")))


def test_somebody_elses_edits_are_shown_with_their_name_and_mine_go_on_top(
    page: Page, address: str, workspace: Workspace
) -> None:
    task = make_task(workspace, proposal(workspace))
    open_bench(page, address, task)
    selected(page, "p0")
    with workspace.database.write() as connection:
        held = task_of(connection, task).annotation.segments[3]
        put = held.model_copy(update={"label": "walk"})
        theirs = Edit.model_validate(
            {"id": "theirs", "action": "relabel", "steps": [{"put": put.model_dump()}]}
        )
        save_edits(connection, task, [theirs], base_version=0, by=LEAD)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text(LEAD.name).first.wait_for()
    page.get_by_role("button", name="put mine on top").click()
    comes_to(page, lambda: _mine_and_theirs(workspace, task), (True, "walk"))


def _mine_and_theirs(workspace: Workspace, task: str) -> tuple[bool, str]:
    with workspace.database.read() as connection:
        held = {each.id: each for each in task_of(connection, task).annotation.segments}
    return held["p0"].confirmed, held["p3"].label


def test_a_whole_task_is_handed_in_by_keyboard_and_the_next_one_is_a_key_away(
    page: Page, address: str, workspace: Workspace
) -> None:
    from playwright.sync_api import expect

    begun = proposal(workspace).model_copy(update={"outcome": "success"})
    task, other = make_task(workspace, begun), make_task(workspace, number=1)
    open_bench(page, address, task)
    for place in range(4):
        selected(page, f"p{place}")
        page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    page.get_by_text("Not submitted").wait_for()
    page.keyboard.press("i")
    expect(page.locator("#bench-new-instruction")).to_be_focused()
    page.keyboard.type("Reach for the mark.")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.get_by_text("it can be submitted").wait_for()
    page.keyboard.press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Submitted")
    expect(dialog.get_by_role("button", name="Next task")).to_be_focused()
    with workspace.database.read() as connection:
        assert task_of(connection, task).state == "submitted"
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/annotate/{other}")
    page.get_by_text("nothing labelled yet").wait_for()


def test_on_a_phone_it_says_so_and_shows_what_was_said(
    page: Page, address: str, workspace: Workspace
) -> None:
    task = make_task(workspace, proposal(workspace))
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/annotate/{task}")
    page.get_by_text("Labelling needs a screen").wait_for()
    page.get_by_text("retract").wait_for()
    fits(page, 390)
