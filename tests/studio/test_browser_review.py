"""Ten episodes are reviewed in a real browser, by keyboard alone, over a server that dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.studio.small_workspace import write_episode
from tests.studio.studio_process import StudioProcess
from tests.studio.waiting import at_rest, fits

from corporeal.catalog.audit import verify
from corporeal.catalog.episodes import find_episode, move_episodes
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.operations.review import (
    SamplingRequest,
    create_review,
    items_of,
    progress_of,
    review_of,
)
from corporeal.operations.review.queue import neighbours

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
EPISODES, DRAWN = 12, 8


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve episodes of a second, one minute apart in one session, and a review of eight."""
    folder = tmp_path_factory.mktemp("review")
    files = [
        write_episode(folder / f"{number}.h5", seed=number, duration_s=1.0, events=(),
                      metadata={"operator": "op0", "station": "st1", "session": "s1",
                                "task": "reach"})
        for number in range(EPISODES)
    ]  # fmt: skip
    files += [
        write_episode(folder / "other.h5", seed=50, duration_s=1.0, events=(),
                      metadata={"operator": "op1", "session": "s2", "task": "reach"})
    ]  # fmt: skip
    with make_workspace(folder / "lab") as workspace:
        ingest(workspace, files, who="tester", on="serial", check=False)
        with workspace.database.write() as connection:
            ids = [row.id for row in every_episode(connection, order="recorded")]
            move_episodes(connection, ids, "accepted", who="tester", why="looked at by hand")
            wanted = SamplingRequest(share=DRAWN / EPISODES)
            lead = Actor("tester", "lead")
            create_review(connection, "ten", "session = s1", wanted, by=lead)
            create_review(connection, "one", "session = s2", SamplingRequest(share=1), by=lead)
    return folder / "lab"


@pytest.fixture(scope="module")
def studio(lab: Path) -> Iterator[StudioProcess]:
    made = StudioProcess(lab)
    made.start()
    yield made
    made.kill()


def _shown(page: Page, *, other_than: str = "") -> str:
    """The id of the episode on the screen, once it is another one than before."""
    page.wait_for_selector(f".workplace:not([data-episode='{other_than}'])")
    return str(page.locator(".workplace").get_attribute("data-episode"))


def _accept(page: Page, episode: str) -> str:
    _look(page)
    page.keyboard.press("a")
    return _shown(page, other_than=episode)


def _look(page: Page) -> None:
    """Wait until most of the episode was on the screen."""
    page.wait_for_function("() => Number(document.querySelector('.shown-bar')?.ariaValueNow) >= 60")


def test_on_a_phone_the_buttons_lie_under_the_thumb(studio: StudioProcess, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{studio.address}/review")
    page.get_by_role("button", name="New review").click()
    page.get_by_label("Which episodes").fill("state is known and score is known")
    page.get_by_text("No episode that nobody has reviewed").wait_for()
    fits(page, 390)
    page.goto(f"{studio.address}/review/ten")
    _shown(page)
    page.wait_for_selector("[data-frame]:not([data-frame='-1'])")
    fits(page, 390)
    for name in ("Accept", "Reject"):
        box = at_rest(page.get_by_role("button", name=name))
        assert box["height"] >= 48
        assert box["y"] + box["height"] <= 844


def test_ten_episodes_by_keyboard_over_a_server_that_is_killed(
    studio: StudioProcess, page: Page
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{studio.address}/review/ten")
    episode = _shown(page)
    seen = [episode]
    page.wait_for_selector("[data-frame]:not([data-frame='-1'])")
    fast = page.get_by_role("button", name="2x speed")
    expect(fast).to_have_attribute("aria-pressed", "true")
    for _ in range(3):
        seen.append(_accept(page, seen[-1]))

    # A rejection: the digit chooses, words are added, Enter sends.
    rejected = seen[-1]
    dialog = page.get_by_role("dialog")
    page.keyboard.press("r")
    expect(dialog.get_by_role("radiogroup", name="Reason")).to_be_focused()
    page.keyboard.press("4")
    expect(dialog.get_by_role("radio", name="camera")).to_be_checked()
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(dialog.get_by_role("textbox")).to_be_focused()
    page.keyboard.type("a hand 12")
    expect(dialog.get_by_role("textbox")).to_have_value("a hand 12")
    page.reload()
    assert _shown(page) == rejected, "the same episode after the window was opened anew"
    page.keyboard.press("r")
    expect(dialog.get_by_role("radio", name="camera")).to_be_checked()
    expect(dialog.get_by_role("textbox")).to_have_value("a hand 12")
    expect(dialog.get_by_role("radiogroup", name="Reason")).to_be_focused()
    page.keyboard.press("Enter")
    seen.append(_shown(page, other_than=rejected))
    page.get_by_text("added, next in the queue").wait_for()

    # The server dies with a decision on its way.
    _look(page)
    studio.kill()
    page.keyboard.press("a")
    page.get_by_text("1 decision waits for the server").wait_for()
    studio.start()
    seen.append(_shown(page, other_than=seen[-1]))
    page.get_by_text("waits for the server").wait_for(state="hidden")

    # Taken back, and decided anew.
    page.keyboard.press("u")
    again = _shown(page, other_than=seen[-1])
    assert again == seen[-2]
    seen[-1] = _accept(page, again)
    while len(seen) < 11:
        _look(page)
        page.keyboard.press("a")
        page.wait_for_selector(f".results, .workplace:not([data-episode='{seen[-1]}'])")
        if page.locator(".results").is_visible():
            break
        seen.append(_shown(page, other_than=seen[-1]))
    assert len(set(seen)) == len(seen)
    assert len(seen) >= 10
    _check_catalogue(studio.root, rejected, seen)


def test_who_accepts_without_looking_is_asked_once_and_it_is_written_down(
    studio: StudioProcess, page: Page
) -> None:
    from playwright.sync_api import expect

    # Nothing is seen in a window that is hidden.
    page.add_init_script("Object.defineProperty(document, 'hidden', {get: () => true})")
    page.goto(f"{studio.address}/review/one")
    _shown(page)
    page.keyboard.press("a")
    expect(page.get_by_role("alert")).to_contain_text("Less than 60 % of it was shown")
    expect(page.get_by_role("button", name="Accept unseen")).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator(".results")).to_contain_text("1 accepted unseen")
    expect(page.get_by_role("row").last).to_contain_text("0 % unseen")
    with open_workspace(studio.root) as workspace, workspace.database.read() as connection:
        review = review_of(connection, "one")
        assert [each.shown for each in items_of(connection, review)] == [0.0]
        assert "accepted unseen" in progress_of(connection, review).lot.words


def _check_catalogue(root: Path, rejected: str, seen: list[str]) -> None:
    with open_workspace(root) as workspace, workspace.database.read() as connection:
        review = review_of(connection, "ten")
        found = {each.episode: each for each in items_of(connection, review)}
        progress = progress_of(connection, review)
        near = neighbours(connection, find_episode(connection, rejected))
        assert not list(verify(connection))
    decided = {name for name, each in found.items() if each.decision}
    assert set(seen[:-1]) <= decided
    assert len(decided) >= 10
    assert (found[rejected].decision, found[rejected].why) == ("reject", "camera: a hand 12")
    assert progress.rejected == 1
    assert progress.neighbours >= 1
    assert seen[4] == next(each for each in near if each not in seen[:3]), "a neighbour comes next"
    assert progress.unseen == 0
    assert all(each.shown and each.shown >= 0.6 for each in found.values()
               if each.decision == "accept")  # fmt: skip
    assert all((each.seconds or 0) > 0 for each in found.values() if each.decision)
