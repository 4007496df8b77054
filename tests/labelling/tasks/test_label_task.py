"""Tasks: who is asked what, in which order, and what may follow what."""

from __future__ import annotations

import pytest
from tests.labelling.work import (
    ANN,
    BEN,
    CY,
    LEAD,
    asked,
    episodes,
    finish,
    said,
)

from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import UnknownEpisodeError
from corporeal.labelling.queues import take, take_next
from corporeal.labelling.review import accept, give_back, submit
from corporeal.labelling.tasks import (
    TaskStateError,
    UnknownTaskError,
    find_task,
    find_tasks,
)
from corporeal.labelling.tasks.label_task import NEXT, TASK_STATES, change_state, may_see


def test_two_of_a_pair_see_nothing_of_each_other_until_both_are_done(database: Database) -> None:
    with database.write() as connection:
        made = asked(connection, episodes(connection, 1), double_share=1.0)
        take(connection, made[0].id, by=ANN)
        finish(connection, made[0].id, said(), ANN)
        one, two = (find_task(connection, each.id) for each in made)
        assert may_see(connection, one, ANN)
        assert may_see(connection, one, LEAD)
        assert not may_see(connection, one, BEN)
        assert not may_see(connection, one, CY)
        take(connection, two.id, by=BEN)
        assert not may_see(connection, find_task(connection, two.id), ANN)
        finish(connection, two.id, said(grasp=150), BEN)
        assert may_see(connection, find_task(connection, one.id), BEN)
        assert may_see(connection, find_task(connection, two.id), ANN)


def test_only_allowed_changes_of_state_are_made_and_all_are_in_the_log(database: Database) -> None:
    with database.write() as connection:
        (made,) = asked(connection, episodes(connection, 1))
        with pytest.raises(TaskStateError, match="got done after open; expected working, dropped"):
            change_state(connection, made, "done", by=LEAD)
        finish(connection, made.id, said(), ANN)
        with pytest.raises(CatalogError, match="reason"):
            give_back(connection, made.id, " ", by=LEAD)
        give_back(connection, made.id, "the grasp begins later", by=LEAD)
        mine = take_next(connection, "work", by=ANN)
        assert mine is not None
        assert mine.id == made.id
        submit(connection, made.id, by=ANN)
        accept(connection, made.id, by=LEAD)
        told = [(each["who"], each["details"].get("from"), each["details"]["to"])
                for each in events_of(connection, f"task:{made.id}")]  # fmt: skip
        assert told == [
            ("lea", None, "open"), ("ann", "open", "working"), ("ann", "working", "submitted"),
            ("lea", "submitted", "returned"), ("ann", "returned", "working"),
            ("ann", "working", "submitted"), ("lea", "submitted", "done"),
        ]  # fmt: skip
        assert list(verify(connection)) == []
        with pytest.raises(TaskStateError):
            change_state(connection, find_task(connection, made.id), "dropped", by=LEAD)


def test_every_state_has_its_followers() -> None:
    assert set(NEXT) == set(TASK_STATES)
    reached = {"open"} | {after for follow in NEXT.values() for after in follow}
    assert reached == set(TASK_STATES)


def test_frames_survive_as_they_were(database: Database) -> None:
    with database.write() as connection:
        (name,) = episodes(connection, 1)
        (made,) = asked(connection, [name])
        kept = find_task(connection, made.id).frames
        assert kept is not None
        assert kept.stream == "observations/head"
        assert [int(kept.stamps[0]), int(kept.stamps[-1]), len(kept.stamps)] == [0, 9966666667, 300]


def test_what_does_not_exist_is_said_so(database: Database) -> None:
    with database.write() as connection:
        episodes(connection, 1)
        with pytest.raises(UnknownTaskError):
            find_task(connection, "nothing")
        with pytest.raises(UnknownEpisodeError):
            asked(connection, ["nothing"])
        for queue in ("", "Work", "../x", "a" * 65):
            with pytest.raises(CatalogError, match="queue"):
                asked(connection, [], queue=queue)
        with pytest.raises(CatalogError, match="double share"):
            asked(connection, [], double_share=1.5)
        assert find_tasks(connection) == []
