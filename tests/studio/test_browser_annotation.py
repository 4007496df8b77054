"""An annotator at work in a real browser: by keyboard, by mouse, and when things break."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from tests.studio.conftest import SmallWorkspace
from tests.studio.labelled import FRAMES, LEAD, frames, make_task, proposal
from tests.studio.small_workspace import burnt_number
from tests.studio.studio_process import StudioProcess

from corporeal.annotation.annotation import Annotation, Segment
from corporeal.annotation.edit import Edit
from corporeal.catalog.labelling.edits import edits_of, save_edits
from corporeal.catalog.labelling.task_row import task as task_of
from corporeal.catalog.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def _open(page: Page, address: str, task: str) -> None:
    page.goto(f"{address}/annotate/{task}")
    page.wait_for_selector(".bench")


def _saved(page: Page) -> None:
    page.wait_for_selector(".saved-note[data-state=saved]")


def _phases(workspace: Workspace, task: str, line: Any) -> list[tuple[str, int, bool]]:
    """Label, first frame and whether confirmed of every phase, as the catalogue has them."""
    with workspace.database.read() as connection:
        content = task_of(connection, task).annotation
    return [
        (each.label, int(np.searchsorted(line.stamps, each.start_ns)), each.confirmed)
        for each in content.in_lane("phase")
    ]


def _selected(page: Page, segment: str) -> None:
    page.wait_for_selector(f'[data-segment="{segment}"][data-selected=true]')


def test_proposals_are_verified_with_one_key_each(
    page: Page, address: str, workspace: Workspace
) -> None:
    _, line = frames(workspace)
    task = make_task(workspace, proposal(workspace))
    _open(page, address, task)
    for place in range(4):
        _selected(page, f"p{place}")
        page.keyboard.press("Enter")
    page.get_by_text("all 4 confirmed").wait_for()
    _saved(page)
    found = _phases(workspace, task, line)
    assert found == [
        ("rest", 0, True), ("reach", 20, True), ("retreat", 60, True), ("rest", 90, True)
    ]  # fmt: skip
    with workspace.database.read() as connection:
        assert [each.edit.action for each in edits_of(connection, task)] == ["accept"] * 4


def test_one_key_nudges_relabels_removes_undoes_and_does_again(
    page: Page, address: str, workspace: Workspace
) -> None:
    _, line = frames(workspace)
    task = make_task(workspace, proposal(workspace))
    _open(page, address, task)
    page.keyboard.press("Enter")
    _selected(page, "p1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("g")
    _saved(page)
    assert _phases(workspace, task, line)[:2] == [("rest", 0, True), ("grasp", 21, False)]
    with workspace.database.read() as connection:
        content = task_of(connection, task).annotation.in_lane("phase")
    assert content[0].end_ns == content[1].start_ns == int(line.stamps[21])
    page.keyboard.press("Backspace")
    _saved(page)
    assert [each[0] for each in _phases(workspace, task, line)] == ["rest", "retreat", "rest"]
    for _ in range(5):
        page.keyboard.press("u")
    _saved(page)
    assert _phases(workspace, task, line)[1] == ("reach", 20, False)
    page.reload()
    page.wait_for_selector(".bench")
    for _ in range(4):
        page.keyboard.press("Shift+U")
    _saved(page)
    assert _phases(workspace, task, line)[1] == ("grasp", 21, False)


def test_the_filmstrip_shows_exactly_the_frames_around_the_boundary(
    page: Page, address: str, workspace: Workspace
) -> None:
    task = make_task(workspace, proposal(workspace))
    _open(page, address, task)
    page.keyboard.press("Enter")
    _selected(page, "p1")
    first = FRAMES[1]
    page.wait_for_selector(f'.filmstrip-picture[data-boundary=true][data-frame="{first}"]')
    page.wait_for_load_state("networkidle")
    for frame in range(first - 4, first + 5):
        shown = page.locator(f'.filmstrip-picture[data-frame="{frame}"] .filmstrip-shown')
        picture = np.asarray(Image.open(io.BytesIO(shown.screenshot())).convert("RGB"))
        assert burnt_number(picture) == frame
    page.locator(f'.filmstrip-picture[data-frame="{first + 3}"]').click()
    _saved(page)
    _, line = frames(workspace)
    assert _phases(workspace, task, line)[1] == ("reach", first + 3, False)


def _place(page: Page, line: Any, frame: int) -> float:
    """Where a frame lies on the lanes, in pixels of the window, while the whole is shown."""
    box = page.locator(".lanes-track").bounding_box()
    edges = page.evaluate(
        "() => [...document.querySelectorAll('[data-segment]')]"
        ".map(each => [each.dataset.segment, each.getBoundingClientRect().left])"
    )
    assert box is not None
    known = dict(edges)
    (x0, x1) = known["p1"], known["p3"]
    (t0, t1) = (int(line.stamps[FRAMES[1]]), int(line.stamps[FRAMES[3]]))
    return float(x0 + (int(line.stamps[frame]) - t0) / (t1 - t0) * (x1 - x0))


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
    y = page.locator('[data-lane="phase"]').bounding_box()
    assert y is not None
    middle = y["y"] + y["height"] / 2

    def drag(frm: int, to: float) -> None:
        page.mouse.move(_place(page, line, frm), middle)
        page.mouse.down()
        page.mouse.move(to - 20, middle, steps=3)
        page.mouse.move(to, middle, steps=3)
        page.mouse.up()
        _saved(page)

    drag(60, _place(page, line, 70) - 5)
    assert _phases(workspace, task, line)[2] == ("retreat", 70, False)
    page.keyboard.down("Alt")
    drag(70, _place(page, line, 69))
    page.keyboard.up("Alt")
    assert _phases(workspace, task, line)[2] == ("retreat", 69, False)


def test_segments_are_drawn_split_and_begun_by_key(
    page: Page, address: str, workspace: Workspace
) -> None:
    _, line = frames(workspace)
    task = make_task(workspace, proposal(workspace))
    _open(page, address, task)
    row = page.locator('[data-lane="quality"]').bounding_box()
    assert row is not None
    y = row["y"] + row["height"] / 2
    page.mouse.move(_place(page, line, 30), y)
    page.mouse.down()
    page.mouse.move(_place(page, line, 50), y, steps=6)
    page.mouse.up()
    _saved(page)
    with workspace.database.read() as connection:
        (drawn,) = task_of(connection, task).annotation.in_lane("quality")
    assert (drawn.start_ns, drawn.end_ns) == (int(line.stamps[30]), int(line.stamps[50]))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Phases").click()
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("/")
    _saved(page)
    assert _phases(workspace, task, line)[:2] == [("rest", 0, False), ("rest", 5, True)]
    page.keyboard.press("Escape")
    for _ in range(3):
        page.keyboard.press(".")
    page.keyboard.press("g")
    _saved(page)
    found = _phases(workspace, task, line)
    assert [each[:2] for each in found[:3]] == [("rest", 0), ("rest", 5), ("grasp", 8)]


def test_somebody_elses_edits_are_shown_with_their_name_and_mine_go_on_top(
    page: Page, address: str, workspace: Workspace
) -> None:
    task = make_task(workspace, proposal(workspace))
    _open(page, address, task)
    _selected(page, "p0")
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
    _saved(page)
    with workspace.database.read() as connection:
        held_now = {each.id: each for each in task_of(connection, task).annotation.segments}
    assert held_now["p0"].confirmed
    assert held_now["p3"].label == "walk"


def _typed(page: Page, dice: random.Random, count: int, expected: list[str]) -> None:
    """Write instructions and mark moments at random; `expected` collects what was typed."""
    for _ in range(count):
        text = f"Wording {len(expected)} {dice.randrange(10**6)}"
        page.keyboard.press("i")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        expected.append(text)
        page.wait_for_timeout(dice.choice([0, 0, 10, 80]))


def test_nothing_typed_is_lost_when_server_and_browser_are_killed(
    small_workspace: SmallWorkspace, tmp_path: Path, browser: Any
) -> None:
    from playwright.sync_api import Error

    with open_workspace(small_workspace.root) as workspace:
        task = make_task(workspace, proposal(workspace))
    studio, dice, expected = StudioProcess(small_workspace.root), random.Random(8), list[str]()
    studio.start()
    kind, profile = browser.browser_type, tmp_path / "profile"
    program = shutil.which("chromium") or shutil.which("google-chrome")

    def fresh() -> BrowserContext:
        opened: BrowserContext = kind.launch_persistent_context(
            str(profile), executable_path=program, args=["--no-sandbox"],
            viewport={"width": 1440, "height": 900},
        )  # fmt: skip
        return opened

    context = fresh()
    try:
        for number in range(2):
            page = context.pages[0]
            _open(page, studio.address, task)
            _typed(page, dice, 4, expected)
            studio.kill()
            _typed(page, dice, dice.randrange(2, 5), expected)
            page.wait_for_selector(".saved-note[data-state=away]")
            half = f"Half a word {dice.randrange(10**6)}"
            page.keyboard.press("i")
            page.keyboard.type(half)
            page.wait_for_timeout(dice.choice([0, 100]))
            if number == 1:
                # A crash: nothing of what the browser meant to write later is written.
                page.wait_for_timeout(200)
                _kill_browser(profile)
            else:
                context.close()
            studio.start()
            context = fresh()
            page = context.pages[0]
            _open(page, studio.address, task)
            page.keyboard.press("i")
            if number != 1:
                assert _is_there(page, half)
            page.keyboard.press("Escape")
            page.locator("#bench-new-instruction").fill("")
            _saved(page)
    except Error as error:
        raise AssertionError(f"after {len(expected)} edits: {error}") from error
    finally:
        context.close()
        studio.kill()
    with open_workspace(small_workspace.root) as workspace:
        _compare(workspace, task, expected)


def _is_there(page: Page, text: str) -> bool:
    """Whether half a word is in its field, or was added when the field was left."""
    fields = [page.locator("#bench-new-instruction"), *page.locator(".instruction textarea").all()]
    return text in [each.input_value() for each in fields]


def _kill_browser(profile: Path) -> None:
    """End the browser of this profile, which this test has started, without a warning."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if entry.name.isdigit() and f"--user-data-dir={profile}".encode() in words:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)


def _compare(workspace: Workspace, task: str, expected: list[str]) -> None:
    """What was typed is in the catalogue: once each, in order, and in the content."""
    with workspace.database.read() as connection:
        made = edits_of(connection, task)
        content: Annotation = task_of(connection, task).annotation
    typed = [
        step["put"]["text"]
        for each in made
        for step in json.loads(each.edit.model_dump_json())["steps"]
        if "text" in step.get("put", {})
    ]
    assert [each for each in typed if each.startswith("Wording")] == expected
    held = {each.text for each in content.instructions}
    assert set(expected) <= held
    assert len({each.edit.id for each in made}) == len(made)
    assert all(isinstance(each, Segment) for each in content.segments)


def test_a_whole_task_is_handed_in_by_keyboard_and_the_next_one_is_a_key_away(
    page: Page, address: str, workspace: Workspace
) -> None:
    begun = proposal(workspace).model_copy(update={"outcome": "success"})
    task, other = make_task(workspace, begun), make_task(workspace, number=1)
    _open(page, address, task)
    for place in range(4):
        _selected(page, f"p{place}")
        page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    page.get_by_text("Not handed in").wait_for()
    page.keyboard.press("i")
    page.keyboard.type("Reach for the mark.")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    _saved(page)
    page.get_by_text("it can be handed in").wait_for()
    page.keyboard.press("Control+Enter")
    page.get_by_role("dialog", name="Handed in").wait_for()
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
    page.get_by_text("retreat").wait_for()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
