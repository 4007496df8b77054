"""An annotator's whole way: qualify, annotate, disagree, be adjudicated, be released."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.studio.conftest import SmallWorkspace
from tests.studio.label_work import People, label_all, make_people
from tests.studio.labelled import FRAMES, frames, proposal
from tests.studio.real_browser import new_page
from tests.studio.studio_process import StudioProcess

from corporeal.catalog.audit import verify as verify_audit
from corporeal.catalog.workspace import Workspace, open_workspace
from corporeal.labelling.annotation import Annotation, Instruction
from corporeal.labelling.labels import labels_of
from corporeal.labelling.labels.versions import accept_labels
from corporeal.labelling.queues.qualification import is_qualified
from corporeal.labelling.tasks import TaskOptions, create_tasks, find_task
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.release import ReleaseOptions, create_release
from corporeal.release.reading import release_dataset

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
TAXONOMY = open_taxonomy("manipulation")
LATER = 8
"""Frames by which the second annotator sees the approach begin later."""


def _proposal(workspace: Workspace, number: int) -> Annotation:
    words = (Instruction(id="i0", text="Reach for the mark.", source="recorded"),)
    said = proposal(workspace, number)
    return said.model_copy(update={"instructions": words, "outcome": "success"})


def _prepare(workspace: Workspace, people: People) -> None:
    """A test of one gold episode, and a queue for the qualified: three episodes, one done twice."""
    lead = people.actor("lee")
    known = [frames(workspace, number) for number in range(3)]
    gold = proposal(workspace, 0, confirmed=True).model_copy(
        update={"instructions": _proposal(workspace, 0).instructions, "outcome": "success"}
    )
    with workspace.database.write() as connection:
        accept_labels(connection, known[0][0], gold, TAXONOMY, task_id=None, by=lead)
        create_tasks(
            connection, [known[0][0]], TAXONOMY, TaskOptions("gold", kind="qualify"), by=lead,
            frames={known[0][0]: known[0][1]},
        )  # fmt: skip
        create_tasks(
            connection, [name for name, _ in known], TAXONOMY,
            TaskOptions("work", blind_share=0.0, again=True, needs_qualification=True),
            by=lead, frames=dict(known),
            starts={name: _proposal(workspace, place) for place, (name, _) in enumerate(known)},
        )  # fmt: skip


def _log_in(browser: Browser, address: str, people: People, name: str) -> Page:
    page = new_page(browser)
    page.goto(f"{address}/labels")
    page.get_by_label("Token").fill(people.tokens[name])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="My work").wait_for()
    return page


def _qualify(page: Page, workspace: Workspace, people: People, name: str) -> None:
    """Take the test; the labels of it are put in as `name` would, frame by frame as the gold."""
    page.get_by_role("button", name="Begin the test").click()
    page.wait_for_url("**/annotate/*")
    page.get_by_text("nothing labelled yet").wait_for()
    taken = page.url.rsplit("/", 1)[1]
    with workspace.database.write() as connection:
        held = find_task(connection, taken)
        assert held.kind == "qualify"
        assert not held.annotation.segments, "a test begins without proposals"
        gold = _proposal(workspace, 0).in_lane("phase")
        label_all(connection, held, people.actor(name), like=gold)
        assert is_qualified(connection, name, TAXONOMY.hash)


def _annotate(page: Page, studio: StudioProcess, *, nudges: int, kill: bool) -> str:
    """Take the next task and verify it by keyboard; the server may be killed in the middle."""
    page.goto(f"{studio.address}/labels")
    page.get_by_role("button", name="Next task").click()
    page.wait_for_url("**/annotate/*")
    taken = page.url.rsplit("/", 1)[1]
    for place in range(4):
        page.wait_for_selector(f'[data-segment="p{place}"][data-selected=true]')
        if place == 1:
            for _ in range(nudges):
                page.keyboard.press("ArrowRight")
        if place == 2 and kill:
            studio.kill()
        page.keyboard.press("Enter")
    if kill:
        page.wait_for_selector(".saved-note[data-state=away]")
        studio.start()
        page.reload()
    page.get_by_text("all 4 confirmed").wait_for()
    page.wait_for_selector(".saved-note[data-state=saved]")
    page.keyboard.press("Control+Enter")
    page.get_by_role("dialog", name="Submitted").wait_for()
    return taken


def test_from_the_test_to_the_release_over_a_server_that_is_killed(
    browser: Browser, small_workspace: SmallWorkspace
) -> None:
    from playwright.sync_api import expect

    with open_workspace(small_workspace.root) as workspace:
        people = make_people(workspace)
        _prepare(workspace, people)
        studio = StudioProcess(small_workspace.root)
        studio.start()
        try:
            done: dict[str, list[str]] = {"ann": [], "ben": []}
            # Ann does three tasks and moves nothing; Ben does the twin of one, eight frames later.
            for name, count in (("ann", 3), ("ben", 1)):
                page = _log_in(browser, studio.address, people, name)
                page.get_by_role("button", name="Begin the test").wait_for()
                expect(page.get_by_role("button", name="Next task")).to_have_count(0)
                _qualify(page, workspace, people, name)
                for number in range(count):
                    nudges = LATER if name == "ben" else 0
                    kill = name == "ann" and number == 1
                    done[name].append(_annotate(page, studio, nudges=nudges, kill=kill))
                page.context.close()
            _decide(browser, studio, people)
            _accept_the_rest(browser, studio, people)
        finally:
            studio.kill()
        _check_release(workspace, done)


def _decide(browser: Browser, studio: StudioProcess, people: People) -> None:
    from playwright.sync_api import expect

    lead = _log_in(browser, studio.address, people, "lee")
    lead.goto(f"{studio.address}/labels/adjudication")
    lead.get_by_role("link", name="Decide").click()
    lead.get_by_role("heading", name="In which frame does approach begin?").wait_for()
    pictures = lead.locator(".choice img")
    expect(pictures).to_have_count(2)
    shown = [str(each.get_attribute("src")) for each in pictures.all()]
    (later,) = [place for place, each in enumerate(shown) if f"frame={FRAMES[1] + LATER}&" in each]
    lead.keyboard.press(str(later + 1))
    lead.wait_for_selector(".adjudicate[data-decided='1'][aria-busy=false]")
    lead.get_by_role("heading", name="Everything is decided").wait_for()
    lead.keyboard.press("Enter")
    lead.get_by_role("link", name="See them on the episode").wait_for()
    lead.context.close()


def _accept_the_rest(browser: Browser, studio: StudioProcess, people: People) -> None:
    from playwright.sync_api import expect

    lead = _log_in(browser, studio.address, people, "lee")
    for left in (2, 1):
        lead.goto(f"{studio.address}/labels/submitted")
        links = lead.get_by_role("link", name="Look")
        expect(links).to_have_count(left)
        links.first.click()
        lead.get_by_role("button", name="Accept").wait_for()
        here = lead.url
        with lead.expect_response(lambda answer: answer.url.endswith("/accept")) as answered:
            lead.keyboard.press("a")
        assert answered.value.ok
        expect(lead).not_to_have_url(here)
    lead.context.close()


def _check_release(workspace: Workspace, done: dict[str, list[str]]) -> None:
    """Every episode has labels, the adjudicated one those of Ben, and a release has all."""
    with workspace.database.read() as connection:
        tasks = {
            name: [find_task(connection, each) for each in made] for name, made in done.items()
        }
        (twin,) = tasks["ben"]
        begins = {}
        for held in tasks["ann"]:
            labels = labels_of(connection, held.episode)
            line = find_task(connection, held.id).frames
            assert labels is not None
            assert line is not None
            stamps = line.stamps.tolist()
            begins[held.episode] = stamps.index(labels.annotation.in_lane("phase")[1].start_ns)
        assert not list(verify_audit(connection))
    expected = dict.fromkeys((held.episode for held in tasks["ann"]), FRAMES[1])
    assert len(expected) == 3
    assert begins == {**expected, twin.episode: FRAMES[1] + LATER}
    release = create_release(
        workspace,
        "taught",
        ReleaseOptions(licence="CC0-1.0", labels="required", negatives=True),
        who="lee",
    )
    dataset = release_dataset(workspace, release.reference)
    assert dataset.episodes
    for number in dataset.episodes:
        recording = dataset.open(number)
        assert recording.labels is not None
        assert recording.labels.lanes
