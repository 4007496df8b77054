"""The robot in a real browser: the right sample, at the right place, drawn only when it must be."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.studio.conftest import SmallWorkspace
from tests.studio.test_person import streams_of
from tests.studio.test_robot import take_in
from tests.studio.waiting import comes_to

from corporeal.catalog.episodes import find_episode
from corporeal.catalog.stores.folder import FolderStore
from corporeal.catalog.workspace import Workspace
from corporeal.embodiment import open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode import Episode
from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

PLACES = ("left_palm", "right_palm", "left_sole", "right_sole", "torso_link")
CANVAS = ".scene canvas"
# How many pictures were drawn before and after a time in which thirty could have been.
_WATCH = """() => new Promise((done) => {
    const [begun, before] = [performance.now(), window.__studioScene.drawn()];
    let left = 30;
    const look = () => {
        left -= 1;
        if (left > 0 || performance.now() - begun < 600) requestAnimationFrame(look);
        else done([before, window.__studioScene.drawn()]);
    };
    look();
})"""


def _file(workspace: Workspace, name: str) -> Path:
    assert isinstance(workspace.store, FolderStore)
    with workspace.database.read() as connection:
        return workspace.store.path(find_episode(connection, name).hash)


def _row(episode: Episode, path: str, time_ns: int) -> tuple[int, Array]:
    """The sample that is shown at a time, and its number."""
    number = int(np.searchsorted(episode[path].time_ns, time_ns, "right")) - 1
    return number, np.asarray(episode[path][number], np.float64)[None]


def _places(page: Page, *, ghost: bool = False) -> Array:
    asked = (
        "([names, ghost]) => names.map((name) => window.__studioScene.linkPosition(name, ghost))"
    )
    return np.array(page.evaluate(asked, [list(PLACES), ghost]), np.float64)


def _is_at(page: Page, there: Array, *, ghost: bool) -> bool:
    return bool(np.allclose(_places(page, ghost=ghost), there, rtol=0, atol=1e-3))


def _quiet(page: Page) -> int:
    """Wait until nothing is drawn any more; how many pictures there were."""
    drawn = [0, 0]

    def is_quiet() -> bool:
        drawn[:] = page.evaluate(_WATCH)
        return drawn[0] == drawn[1]

    comes_to(page, is_quiet, wanted=True)
    return drawn[1]


def _seek(page: Page, time_ns: int) -> None:
    page.evaluate("(time) => window.__studioScene.seek(time)", time_ns)
    page.wait_for_selector(f'{CANVAS}[data-time-ns="{time_ns}"]', state="attached")


def test_hands_and_feet_are_where_the_kinematics_has_them(
    page: Page, address: str, small_workspace: SmallWorkspace, workspace: Workspace
) -> None:
    name = small_workspace.episodes[0]
    page.goto(f"{address}/episodes/{name}?t=1000000000")
    page.wait_for_selector(f'{CANVAS}[data-frame]:not([data-frame="-2"])', state="attached")
    rng = np.random.default_rng(11)
    with Episode.open(_file(workspace, name)) as episode:
        kinematics = Kinematics(episode.embodiment)
        names = dict(zip(PLACES, PLACES, strict=True))
        for time_ns in rng.integers(10**8, 39 * 10**8, 8).tolist():
            _seek(page, time_ns)
            frame, q = _row(episode, "observations/joint_position", time_ns)
            asked, target = _row(episode, "actions/joint_position_target", time_ns)
            _, base = _row(episode, "debug/base_pose", time_ns)
            page.wait_for_selector(
                f'{CANVAS}[data-frame="{frame}"][data-ghost-frame="{asked}"]', state="attached"
            )
            measured = kinematics.place_poses(names, q, base).positions[0]
            commanded = kinematics.place_poses(names, target, base).positions[0]
            for ghost, there in ((False, measured), (True, commanded)):
                comes_to(page, partial(_is_at, page, there, ghost=ghost), wanted=True)
            assert np.abs(measured - commanded).max() > 1e-4, "the ghost differs"


def test_keys_change_the_picture_and_nothing_is_drawn_while_nothing_changes(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/episodes/{small_workspace.episodes[0]}?t=1000000000")
    page.wait_for_selector(f'{CANVAS}[data-frame]:not([data-frame="-2"])', state="attached")
    page.wait_for_function("() => window.__studioScene.drawn() > 0")
    page.get_by_role("toolbar", name="Robot view").wait_for()
    for key in ("h", "v"):
        before = _quiet(page)
        page.keyboard.press(key)
        page.wait_for_function("(n) => window.__studioScene.drawn() > n", arg=before)
    page.get_by_text("Show", exact=True).click()
    expect(page.get_by_label("Commanded pose")).not_to_be_checked()
    page.locator(CANVAS).focus()
    expect(page.locator(CANVAS)).to_be_focused()
    before = _quiet(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("(n) => window.__studioScene.drawn() > n", arg=before)
    _quiet(page)
    # Arrows turn the view, and leave the clock alone.
    expect(page.locator(CANVAS)).to_have_attribute("data-time-ns", "1000000000")


def test_the_view_cube_and_the_menu_work_by_keys_and_no_panel_cuts_the_menu(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{address}/episodes/{small_workspace.episodes[0]}?t=1000000000")
    page.wait_for_selector(f'{CANVAS}[data-frame]:not([data-frame="-2"])', state="attached")
    tools = page.get_by_role("toolbar", name="Robot view")
    show = tools.get_by_role("button", name="Show")
    show.focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("group", name="What is shown")
    expect(menu).to_be_visible()
    box = menu.bounding_box()
    assert box is not None
    assert min(box["x"], box["y"]) >= 0
    assert box["y"] + box["height"] <= 720
    assert menu.evaluate("(box) => box.scrollHeight <= box.clientHeight"), "nothing is cut"
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    # A finer picture of what stands still may follow by itself: ask for the view, not for pictures.
    where = "() => window.__studioScene.cameraPosition().map((x) => Math.round(x * 100)).join()"
    before = page.evaluate(where)
    page.keyboard.press("Shift+x")
    page.wait_for_function("() => document.fullscreenElement !== null")
    front = page.get_by_role("group", name="Look from").get_by_role("button", name="Front")
    front.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"(before) => ({where})() !== before", arg=before)
    page.keyboard.press("Shift+g")
    page.keyboard.press("Shift+v")
    expect(page.locator(".scene-legend")).to_contain_text("commanded pose")


def test_the_person_beside_the_robot_shows_the_sample_of_the_moment(
    page: Page, address: str, workspace: Workspace, tmp_path: Path
) -> None:
    streams = {stream.name: (stream, values) for stream, values in streams_of(4.0).items()}
    streams["human_confidence"][1][:, POINTS.index("left_heel")] = 0
    name = take_in(workspace, tmp_path, dict(streams.values()), open_robot("g1"))
    page.goto(f"{address}/episodes/{name}?t=0")
    for frame, missed in ((7, []), (30, ["right_palm"])):
        page.wait_for_function("() => window.__studioScene !== undefined")
        _seek(page, frame * 10_000_000)
        page.wait_for_selector(f'{CANVAS}[data-person-frame="{frame}"]', state="attached")
        ask = "(name) => window.__studioScene.personPoint(name)"
        at = streams["human_points"][1][frame, POINTS.index("right_hand")]
        np.testing.assert_allclose(page.evaluate(ask, "right_hand"), at, atol=1e-6)
        assert page.evaluate(ask, "left_heel") is None, "nobody saw it"
        page.wait_for_function(
            "(places) => window.__studioScene.missed().join() === places", arg=",".join(missed)
        )


def test_tactile_maps_show_the_sample_of_the_moment(
    page: Page, address: str, small_workspace: SmallWorkspace, workspace: Workspace
) -> None:
    name, time_ns = small_workspace.episodes[0], 2_000_000_000
    with Episode.open(_file(workspace, name)) as episode:
        stream = next(path for path in episode if path.endswith("tactile"))
        frame, _ = _row(episode, stream, time_ns)
    page.goto(f"{address}/episodes/{name}?t={time_ns}")
    # Nothing presses on them in this episode, so they are shown when they are asked for.
    page.get_by_role("button", name="nothing touches").click()
    page.wait_for_selector(f'canvas[data-stream="{stream}"][data-frame="{frame}"]')


def test_without_webgl_a_sentence_stands_in_its_place(
    page: Page, address: str, small_workspace: SmallWorkspace
) -> None:
    page.add_init_script(
        "const make = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {"
        "  return kind.startsWith('webgl') ? null : make.call(this, kind, ...rest); };"
    )
    page.goto(f"{address}/episodes/{small_workspace.episodes[0]}")
    page.get_by_text("This browser does not draw in 3-D").wait_for()
