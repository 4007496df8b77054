"""Agreement over many pairs: per person, label and rule, with alerts that say what is wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection
from tests.labelling.work import (
    ANN,
    BEN,
    CY,
    LEAD,
    asked,
    episodes,
    finish,
    said,
    taxonomy,
    write,
)

from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.labelling.agreement import agreement_of
from corporeal.labelling.queues import queues, take
from corporeal.labelling.review import (
    accept,
    add_comment,
    comments_about,
    give_back,
    history_of,
    resolve_comment,
)


def _pairs(connection: Connection, shifts: Sequence[int]) -> None:
    """Pairs in which Ben sets the grasp so many frames later than Ann."""
    made = asked(connection, episodes(connection, len(shifts)), double_share=1.0)
    for number, shift in enumerate(shifts):
        one, two = made[2 * number : 2 * number + 2]
        finish(connection, one.id, said(grasp=100), ANN)
        finish(connection, two.id, said(grasp=100 + shift), BEN)


def test_nothing_to_compare_alarms_nobody(database: Database) -> None:
    with database.read() as connection:
        found = agreement_of(connection, taxonomy())
        assert found.summary.episodes == 0
        assert found.alerts == ()
        json.dumps(found.to_json(), allow_nan=False)


def test_a_person_who_is_always_late_is_found_with_the_sign(database: Database) -> None:
    with database.write() as connection:
        _pairs(connection, [9] * 6)
        found = agreement_of(connection, taxonomy())
        assert found.rules["phase/grasp.starts"].bias_frames == pytest.approx(9)
        assert found.annotators["ben"].bias_frames == -found.annotators["ann"].bias_frames > 0
        assert found.ambiguous == ("phase/grasp.starts",)
        assert any("the rule phase/grasp.starts is ambiguous" in each for each in found.alerts)
        assert found.labels["phase/grasp"].kappa == 1.0
        assert found.alpha["phase"] == 1.0
        json.dumps(found.to_json(), allow_nan=False)


def test_people_who_agree_raise_no_alert(database: Database) -> None:
    with database.write() as connection:
        _pairs(connection, [0, 1, -1, 0, 2])
        found = agreement_of(connection, taxonomy())
        assert found.summary.is_good
        assert found.summary.episodes == 5
        assert found.alerts == found.ambiguous == ()
        assert agreement_of(connection, taxonomy(), annotator="cy").summary.episodes == 0
        assert agreement_of(connection, taxonomy(), queue="work").summary.episodes == 5
        assert agreement_of(connection, taxonomy(), since="2999").summary.episodes == 0


def test_anchoring_compares_those_who_saw_a_proposal_with_those_who_did_not(
    database: Database,
) -> None:
    with database.write() as connection:
        names = episodes(connection, 10)
        starts = {name: said(grasp=100, confirmed=False) for name in names}
        made = asked(connection, names, starts=starts, blind_share=0.5)
        for each in made:
            finish(connection, each.id, said(grasp=112 if each.is_blind else 101), ANN)
        found = agreement_of(connection, taxonomy())
        assert (found.anchoring.with_tasks, found.anchoring.without_tasks) == (5, 5)
        assert found.anchoring.without_frames > 4 * found.anchoring.with_frames > 0
        assert found.anchoring.is_suspicious


def test_the_history_says_who_did_what_and_why(database: Database) -> None:
    with database.write() as connection:
        (made,) = asked(connection, episodes(connection, 1))
        finish(connection, made.id, said(), ANN)
        give_back(connection, made.id, "too early", by=LEAD)
        finish(connection, made.id, said(grasp=105), ANN)
        accept(connection, made.id, by=LEAD, why="now it is right")
        lines = history_of(connection, made.episode)
        told = [(each.who, each.what, each.why) for each in lines]
        assert ("lea", "task submitted to returned", "too early") in told
        assert ("ann", "2 edits", None) in told
        assert ("lea", "labels 1 in force", "now it is right") in told
        assert [each.at for each in lines] == sorted(each.at for each in lines)


def test_comments_are_made_listed_and_resolved(database: Database) -> None:
    with database.write() as connection:
        (name,) = episodes(connection, 1)
        made = add_comment(connection, name, " what is this? ", by=ANN, time_ns=5)
        assert (made.text, made.time_ns, made.resolved_at) == ("what is this?", 5, None)
        with pytest.raises(PermissionDeniedError):
            resolve_comment(connection, made.number, by=BEN)
        assert resolve_comment(connection, made.number, by=LEAD).resolved_at is not None
        assert [each.number for each in comments_about(connection, name, by=CY)] == [made.number]
        for wrong in ("", " ", "x" * 4001, "a\0b"):
            with pytest.raises(CatalogError):
                add_comment(connection, name, wrong, by=ANN)
        with pytest.raises(PermissionDeniedError):
            add_comment(connection, name, "hm", by=Actor("vic", "viewer"))
        with pytest.raises(CatalogError):
            resolve_comment(connection, 99, by=LEAD)


def test_a_comment_on_one_of_a_pair_is_not_shown_to_the_other(database: Database) -> None:
    with database.write() as connection:
        one, two = asked(connection, episodes(connection, 1), double_share=1.0)
        take(connection, one.id, by=ANN)
        take(connection, two.id, by=BEN)
        add_comment(connection, one.episode, "the grasp is at 3 s", by=ANN, task_id=one.id)
        assert comments_about(connection, one.episode, by=BEN) == []
        assert len(comments_about(connection, one.episode, by=ANN)) == 1
        assert len(comments_about(connection, one.episode, by=LEAD)) == 1


def test_a_queue_says_how_far_it_is(database: Database) -> None:
    with database.write() as connection:
        made = asked(connection, episodes(connection, 3))
        finish(connection, made[0].id, said(), ANN)
        write(connection, made[1].id, said(), BEN)
        (found,) = queues(connection)
        assert found.states == {"submitted": 1, "working": 1, "open": 1}
        assert found.people == {"ann": 1, "ben": 1}
        assert (found.total, found.done, found.edits) == (3, 0, 2)
        assert queues(connection, queue="none") == []
