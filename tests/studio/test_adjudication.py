"""A lead decides on every difference of two people, and the labels count when all are decided."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from tests.studio.label_work import (
    People,
    boundaries,
    label_all,
    make_people,
    make_queue,
)

from corporeal.catalog.database import CatalogError
from corporeal.catalog.workspace import Workspace
from corporeal.labelling.adjudication import Card, CardSide
from corporeal.labelling.adjudication.cards import cards_from, steps_to_frame, steps_to_label
from corporeal.labelling.annotation import Annotation, Edit, Segment, apply_edit
from corporeal.labelling.labels import labels_of
from corporeal.labelling.queues import take_next
from corporeal.labelling.tasks import find_tasks
from corporeal.labelling.taxonomy import open_taxonomy

STAMPS = np.arange(120, dtype=np.int64) * 33_333_333
KEY = "0123456789ab"


@pytest.fixture
def people(workspace: Workspace) -> People:
    return make_people(workspace)


@pytest.fixture
def pair(client: TestClient, people: People, workspace: Workspace) -> str:
    """A pair that differs about the beginning of reach, its end, and the outcome."""
    make_queue(client, people, query="operator = op1")
    with workspace.database.write() as connection:
        for name in ("ann", "ben"):
            held = take_next(connection, "monday", by=people.actor(name))
            assert held is not None
            # Who of the two comes first is drawn by lot.
            is_first = held.settings["place"] == 1
            at, outcome = ((30, 60), "success") if is_first else ((38, 50), "failure")
            label_all(connection, held, people.actor(name), at=at, outcome=outcome)
        return str(find_tasks(connection, queue="monday", kind="annotate")[0].pair)


def _stamps(workspace: Workspace) -> list[int]:
    with workspace.database.read() as connection:
        frames = find_tasks(connection, queue="monday")[0].frames
        assert frames is not None
        return [int(each) for each in frames.stamps]


def _decide(client: TestClient, people: People, pair: str, card: str, **body: Any) -> Any:
    return client.post(f"/api/labels/pairs/{pair}/cards/{card}", headers=people.head("lee"),
                       json={"key": KEY, **body})  # fmt: skip


def test_one_card_for_each_difference_with_the_rule_in_words(
    client: TestClient, people: People, pair: str
) -> None:
    said = client.get(f"/api/labels/pairs/{pair}", headers=people.head("lee")).json()
    cards = said["cards"]
    assert [each["kind"] for each in cards] == ["boundary", "boundary", "outcome", "outcome"]
    assert cards[0]["question"] == "In which frame does approach begin?"
    assert cards[0]["rule_text"].startswith("The first frame in which")
    assert (cards[0]["first"]["frame"], cards[0]["second"]["frame"]) == (30, 38)
    assert cards[0]["events"][0] == "motion_begins"
    assert (cards[1]["first"]["frame"], cards[1]["second"]["frame"]) == (60, 50)
    assert said["names"] is None, "whoever decides does not know whose word it is"


def test_decisions_make_the_labels_and_the_labels_count(
    client: TestClient, people: People, pair: str, workspace: Workspace
) -> None:
    stamps = _stamps(workspace)
    cards = client.get(f"/api/labels/pairs/{pair}", headers=people.head("lee")).json()["cards"]
    early = client.post(f"/api/labels/pairs/{pair}/accept", headers=people.head("lee"))
    assert early.status_code == 422
    assert "not decided" in early.json()["error"]
    _decide(client, people, pair, cards[0]["id"], choice="second")
    _decide(client, people, pair, cards[1]["id"], choice="other", frame=55)
    for card in cards[2:]:
        said = _decide(client, people, pair, card["id"], choice="first").json()
    assert said["facts"]["decided"] == 4
    assert said["cards"][1]["decided"]["frame"] == 55
    done = client.post(f"/api/labels/pairs/{pair}/accept", headers=people.head("lee")).json()
    assert done["facts"]["state"] == "done"
    assert sorted(done["names"]) == ["ann", "ben"]
    with workspace.database.read() as connection:
        held = labels_of(connection, done["facts"]["episode"])
        assert all(each.state == "done" for each in find_tasks(connection, queue="monday"))
    assert held is not None
    assert boundaries(held.annotation) == [stamps[38], stamps[55]]
    assert held.annotation.outcome == "success"
    facts = client.get(f"/api/episodes/{done['facts']['episode']}", headers=people.head("vic"))
    phases = facts.json()["lanes"][0]
    assert (phases["name"], [each["label"] for each in phases["items"]]) == (
        "Phases", ["rest", "approach", "rest"],
    )  # fmt: skip
    rules = client.get("/api/dashboards/agreement_by_rule", headers=people.head("vic")).json()
    told = {row["cells"][0]: row["cells"][5] for row in rules["payload"]["rows"]}
    # The lead chose the second's frame, which is 8 away from the first's: 4 on average.
    assert told["approach begins"] == "4.0 (2)"


def test_a_card_is_decided_anew_whatever_frame_was_chosen_before(
    client: TestClient, people: People, pair: str, workspace: Workspace
) -> None:
    stamps = _stamps(workspace)
    card = client.get(f"/api/labels/pairs/{pair}", headers=people.head("lee")).json()["cards"][0]
    assert _decide(client, people, pair, card["id"], choice="other", frame=12).status_code == 200
    for choice, frame, key in (("first", 30, "aaaaaaaa"), ("second", 38, "bbbbbbbb")):
        said = _decide(client, people, pair, card["id"], choice=choice, key=key).json()
        starts = [each["start_ns"] for each in said["result"][0]["items"]]
        assert starts == [stamps[0], stamps[frame], stamps[60]]
    far = _decide(client, people, pair, card["id"], choice="other", frame=80, key="cccccccc")
    assert far.status_code == 422
    assert "between its neighbours" in far.json()["error"]


def test_those_who_labelled_do_not_decide(
    client: TestClient, people: People, workspace: Workspace
) -> None:
    make_queue(client, people, query="operator = op1")
    with workspace.database.write() as connection:
        for name, at in (("ann", (30, 60)), ("lee", (38, 50))):
            held = take_next(connection, "monday", by=people.actor(name))
            assert held is not None
            label_all(connection, held, people.actor(name), at=at)
        pair = str(find_tasks(connection, queue="monday", kind="annotate")[0].pair)
    assert client.get("/api/labels/pairs", headers=people.head("lee")).json() == []
    assert client.get(f"/api/labels/pairs/{pair}", headers=people.head("lee")).status_code == 403
    assert client.get(f"/api/labels/pairs/{pair}", headers=people.head("ben")).status_code == 403
    shown = client.get("/api/labels/pairs", headers=people.head("ada")).json()
    assert [each["pair"] for each in shown] == [pair]


def _told(number: int, kind: str, rule: str, one: int, two: int, **more: Any) -> Any:
    low, high = sorted((one, two))
    return {"id": f"d{number}", "kind": kind, "lane": "phase", "first": "approach",
            "second": "approach", "start_ns": int(STAMPS[low]), "end_ns": int(STAMPS[high]),
            "frames": two - one, "rule": rule, "resolved": None, **more}  # fmt: skip


def _cards(*told: Any) -> Sequence[Card]:
    return cards_from(told, open_taxonomy("manipulation"), STAMPS)


def test_a_shared_boundary_is_one_question_under_the_rule_of_what_begins() -> None:
    found = _cards(
        _told(1, "boundary", "rest.ends", 30, 36), _told(2, "boundary", "approach.starts", 30, 36)
    )
    assert [(each.ids, each.rule) for each in found] == [(("d1", "d2"), "approach.starts")]
    assert found[0].resolved is None


def test_a_boundary_follows_the_label_in_whose_while_it_lies() -> None:
    found = _cards(
        _told(1, "label", "", 20, 60, first="approach", second="grasp"),
        _told(2, "boundary", "rest.starts", 55, 60),
        _told(3, "boundary", "rest.ends", 90, 99),
    )
    assert [each.ids for each in found] == [("d1", "d2"), ("d3",)]


def _content() -> Annotation:
    edges = (0, 30, 60, 119)
    return Annotation(segments=tuple(
        Segment(id=f"s{place}", lane="phase", label=label, start_ns=int(STAMPS[edges[place]]),
                end_ns=int(STAMPS[edges[place + 1]]))
        for place, label in enumerate(("rest", "approach", "rest"))
    ))  # fmt: skip


def _card(kind: Any, rule: str, first: int, second: int) -> Card:
    sides = [CardSide("approach", int(STAMPS[each]), each) for each in (first, second)]
    low, high = sorted((first, second))
    return Card(("d1",), kind, "phase", rule, sides[0], sides[1], int(STAMPS[low]),
                int(STAMPS[high]), None)  # fmt: skip


def test_another_frame_moves_both_neighbours() -> None:
    content = _content()
    steps = steps_to_frame(content, _card("boundary", "approach.starts", 30, 38), int(STAMPS[25]),
                           tiles=True)  # fmt: skip
    moved = apply_edit(content, Edit(id="e", action="resolve", steps=steps)).in_lane("phase")
    assert [(each.start_ns, each.end_ns) for each in moved] == [
        (0, STAMPS[25]), (STAMPS[25], STAMPS[60]), (STAMPS[60], STAMPS[119]),
    ]  # fmt: skip
    with pytest.raises(CatalogError, match="between its neighbours"):
        steps_to_frame(content, _card("boundary", "approach.starts", 30, 38), int(STAMPS[70]),
                       tiles=True)  # fmt: skip


def test_another_label_is_cut_in_without_a_gap() -> None:
    content = _content()
    steps = steps_to_label(content, _card("label", "", 40, 50), "grasp")
    made = apply_edit(content, Edit(id="e", action="resolve", steps=steps)).in_lane("phase")
    assert [each.label for each in made] == ["rest", "approach", "grasp", "approach", "rest"]
    assert all(one.end_ns == two.start_ns for one, two in pairwise(made))
