"""Everybody gets the next task that is theirs to do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.labelling.work import (
    ANN,
    BEN,
    CY,
    LEAD,
    asked,
    episodes,
    said,
    write,
)

from corporeal.catalog.accounts import add_account
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.permission import Actor
from corporeal.labelling.queues import add_seconds, assign, take, take_next
from corporeal.labelling.tasks import (
    find_task,
)
from corporeal.labelling.tasks.label_task import change_state


def test_the_next_task_is_the_most_urgent_and_comes_again(database: Database) -> None:
    with database.write() as connection:
        made = asked(connection, episodes(connection, 3))
        change_state(connection, made[1], "open", by=LEAD, priority=5)
        first = take_next(connection, "work", by=ANN)
        assert first is not None
        assert first.id == made[1].id
        assert (first.state, first.assigned_to) == ("working", "ann")
        again = take_next(connection, "work", by=ANN)
        assert again is not None
        assert again.id == first.id
        other = take_next(connection, "work", by=BEN)
        assert other is not None
        assert other.id != first.id
        avoided = take_next(connection, "work", by=ANN, avoid=[first.id])
        assert avoided is not None
        assert avoided.id not in (first.id, other.id)
        assert take_next(connection, "work", by=CY) is None
        assert take_next(connection, "nothing", by=CY) is None


def test_nobody_gets_both_of_a_pair(database: Database) -> None:
    with database.write() as connection:
        add_account(connection, "root", "admin", by=Actor("root", "admin"))
        add_account(connection, "ann", "annotator", by=Actor("root", "admin"))
        made = asked(connection, episodes(connection, 1), double_share=1.0)
        assert len(made) == 2
        assert made[0].pair == made[1].pair
        mine = take_next(connection, "work", by=ANN)
        assert mine is not None
        assert take_next(connection, "work", by=ANN, avoid=[mine.id]) is None
        rest = next(each.id for each in made if each.id != mine.id)
        with pytest.raises(CatalogError, match="has annotated this episode"):
            take(connection, rest, by=ANN)
        with pytest.raises(CatalogError, match="has annotated this episode"):
            assign(connection, rest, "ann", by=LEAD)
        theirs = take_next(connection, "work", by=BEN)
        assert theirs is not None
        assert theirs.id == rest


def test_a_task_that_was_taken_and_left_frees_itself_but_not_with_work_in_it(
    database: Database,
) -> None:
    with database.write() as connection:
        made = asked(connection, episodes(connection, 2))
        left = take_next(connection, "work", by=ANN)
        begun = take_next(connection, "work", by=BEN)
        assert left is not None
        assert begun is not None
        write(connection, begun.id, said(), BEN)
        assert take_next(connection, "work", by=CY) is None
        got = take_next(connection, "work", by=CY, taken_for=timedelta(0))
        assert got is not None
        assert (got.id, got.assigned_to) == (left.id, "cy")
        assert {each.id for each in made} == {left.id, begun.id}


def test_people_who_ask_at_once_get_different_tasks(database: Database) -> None:
    with database.write() as connection:
        asked(connection, episodes(connection, 8), double_share=1.0)
    people = [Actor(f"p{number}", "annotator") for number in range(8)]
    got: dict[str, str] = {}

    def ask(who: Actor) -> None:
        with database.write() as connection:
            held = take_next(connection, "work", by=who)
            assert held is not None
            got[who.name] = held.id

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, people))
    assert len(set(got.values())) == 8


def test_time_is_added_up_and_bounded(database: Database) -> None:
    with database.write() as connection:
        (made,) = asked(connection, episodes(connection, 1))
        take(connection, made.id, by=ANN)
        assert add_seconds(connection, made.id, 2.5, by=ANN) == 2.5
        assert add_seconds(connection, made.id, 4.0, by=ANN) == 6.5
        assert find_task(connection, made.id).seconds == 6.5
        for wrong in (-1.0, float("nan"), 1e9):
            with pytest.raises(CatalogError, match="seconds"):
                add_seconds(connection, made.id, wrong, by=ANN)
