"""Two people on one episode: agreed or adjudicated, card by card."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection
from tests.labelling.work import (
    ANN,
    BEN,
    LEAD,
    OTHER_LEAD,
    STAMPS,
    asked,
    episodes,
    finish,
    said,
)

from corporeal.catalog.database import Database
from corporeal.catalog.permission import PermissionDeniedError
from corporeal.errors import UnknownNameError
from corporeal.labelling.adjudication import CardChoice
from corporeal.labelling.adjudication.adjudication import (
    AGREED,
    adjudication_of,
    differences_of,
    pair_of,
    resolve,
)
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.labels import labels_of
from corporeal.labelling.labels.versions import label_history
from corporeal.labelling.queues import take_next
from corporeal.labelling.review import IncompleteError, accept, give_back, submit
from corporeal.labelling.tasks import LabelTask, TaskStateError, find_task
from corporeal.labelling.tasks.label_task import change_state


def _pair(connection: Connection, first: Annotation, second: Annotation) -> LabelTask:
    """Two people's work on one episode, handed in; the first of the two tasks."""
    one, two = asked(connection, episodes(connection, 1), double_share=1.0)
    finish(connection, two.id, second, BEN)
    finish(connection, one.id, first, ANN)
    return find_task(connection, one.id)


def _adjudication(connection: Connection, held: LabelTask) -> LabelTask:
    found = adjudication_of(connection, str(held.pair))
    assert found is not None
    return found


def _phases(annotation: Annotation) -> list[tuple[str, int, int]]:
    stamps = [*STAMPS.tolist()]
    return [(each.label, stamps.index(each.start_ns), stamps.index(each.end_ns))
            for each in annotation.in_lane("phase")]  # fmt: skip


def test_two_who_agree_need_nobody_else_and_the_first_ones_labels_count(
    database: Database,
) -> None:
    with database.write() as connection:
        held = _pair(connection, said(grasp=100), said(grasp=102))
        assert [each.state for each in pair_of(connection, str(held.pair))] == ["done", "done"]
        labels = labels_of(connection, held.episode)
        assert labels is not None
        assert (labels.who, labels.task) == ("ann", held.id)
        assert _phases(labels.annotation)[0] == ("reach", 0, 100)
        assert adjudication_of(connection, str(held.pair)) is None
        assert AGREED.startswith("two people agree")


def test_nothing_counts_before_both_are_in(database: Database) -> None:
    with database.write() as connection:
        one, _ = asked(connection, episodes(connection, 1), double_share=1.0)
        assert finish(connection, one.id, said(), ANN).state == "submitted"
        assert labels_of(connection, one.episode) is None
        with pytest.raises(TaskStateError, match="waits for the other one"):
            accept(connection, one.id, by=LEAD)


def test_a_pair_of_which_one_was_dropped_is_reviewed_as_usual(database: Database) -> None:
    with database.write() as connection:
        one, two = asked(connection, episodes(connection, 1), double_share=1.0)
        finish(connection, one.id, said(), ANN)
        change_state(connection, two, "dropped", by=LEAD, why="nobody is there")
        assert accept(connection, one.id, by=LEAD).who == "ann"


def test_every_difference_becomes_a_card(database: Database) -> None:
    with database.write() as connection:
        held = _pair(
            connection,
            said(grasp=100, hand="left"),
            said(grasp=110, hand="right", outcome="failure", holds=(120, 180)),
        )
        cards = differences_of(_adjudication(connection, held)).values()
        assert {(each["kind"], each["rule"]) for each in cards} >= {
            ("boundary", "grasp.starts"), ("attribute", "hand"), ("outcome", "outcome"),
            ("outcome", "failure_mode"), ("missing", ""),
        }  # fmt: skip
        assert labels_of(connection, held.episode) is None


@pytest.mark.parametrize("choice", ["first", "second"])
def test_a_card_puts_one_side_into_the_content(database: Database, choice: CardChoice) -> None:
    one = said(grasp=100, retreat=200, hand="left")
    two = said(grasp=110, retreat=190, hand="right", outcome="failure", holds=(120, 180))
    with database.write() as connection:
        held = _pair(connection, one, two)
        judge = take_next(connection, "work", by=LEAD)
        assert judge is not None
        assert judge.kind == "adjudicate"
        with pytest.raises(IncompleteError, match="is not decided"):
            submit(connection, judge.id, by=LEAD)
        for card in differences_of(judge):
            resolve(connection, judge.id, card, choice, by=LEAD, note="as the rule says")
        assert submit(connection, judge.id, by=LEAD).state == "done"
        labels = labels_of(connection, held.episode)
        assert labels is not None
        wanted = one if choice == "first" else two
        assert _phases(labels.annotation) == _phases(wanted)
        assert labels.annotation.outcome == wanted.outcome
        assert labels.annotation.failure_mode == wanted.failure_mode
        grasp = labels.annotation.in_lane("phase")[1]
        assert grasp.attributes == wanted.in_lane("phase")[1].attributes
        assert len(labels.annotation.in_lane("contact")) == len(wanted.in_lane("contact"))
        assert labels.who == "lea"
        assert [each.state for each in pair_of(connection, str(held.pair))] == ["done", "done"]


def test_a_lead_may_change_their_mind_about_a_card(database: Database) -> None:
    with database.write() as connection:
        held = _pair(connection, said(grasp=100), said(grasp=110))
        judge = _adjudication(connection, held)
        boundary = next(name for name, card in differences_of(judge).items()
                        if card["rule"] == "grasp.starts")  # fmt: skip
        after = resolve(connection, judge.id, boundary, "second", by=LEAD)
        assert _phases(after.annotation)[:2] == [("reach", 0, 110), ("grasp", 110, 200)]
        after = resolve(connection, judge.id, boundary, "first", by=LEAD)
        assert _phases(after.annotation) == _phases(said(grasp=100))
        assert differences_of(after)[boundary]["resolved"]["choice"] == "first"


def test_whoever_annotated_an_episode_does_not_adjudicate_it(database: Database) -> None:
    with database.write() as connection:
        one, two = asked(connection, episodes(connection, 1), double_share=1.0)
        finish(connection, one.id, said(), LEAD)
        finish(connection, two.id, said(grasp=150), ANN)
        judge = _adjudication(connection, one)
        card = next(iter(differences_of(judge)))
        assert take_next(connection, "work", by=LEAD) is None
        assert take_next(connection, "work", by=BEN) is None
        for who in (LEAD, BEN):
            with pytest.raises(PermissionDeniedError):
                resolve(connection, judge.id, card, "first", by=who)
        got = take_next(connection, "work", by=OTHER_LEAD)
        assert got is not None
        assert got.id == judge.id
        with pytest.raises(UnknownNameError, match="unknown card"):
            resolve(connection, judge.id, "d99", "first", by=OTHER_LEAD)


def test_work_that_is_given_back_ends_the_adjudication(database: Database) -> None:
    with database.write() as connection:
        held = _pair(connection, said(grasp=100), said(grasp=140))
        judge = _adjudication(connection, held)
        give_back(connection, held.id, "look again at the grasp", by=LEAD)
        assert find_task(connection, judge.id).state == "dropped"
        finish(connection, held.id, said(grasp=140), ANN)
        labels = labels_of(connection, held.episode)
        assert labels is not None
        assert [each.number for each in label_history(connection, held.episode)] == [1]
