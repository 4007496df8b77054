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
    finish,
    said,
    write,
)

from corporeal.catalog.accounts import add_account
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.labelling.adjudication.adjudication import pair_of
from corporeal.labelling.queues import (
    add_seconds,
    assign,
    list_offers,
    return_task,
    skip_task,
    take,
    take_next,
)
from corporeal.labelling.review import give_back
from corporeal.labelling.tasks import TaskStateError, find_task
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


def test_what_was_skipped_comes_again_after_all_the_others(database: Database) -> None:
    with database.write() as connection:
        asked(connection, episodes(connection, 3))
        first = take_next(connection, "work", by=ANN)
        assert first is not None
        skip_task(connection, first.id, by=ANN)
        order = []
        for _ in range(2):
            following = take_next(connection, "work", by=ANN)
            assert following is not None
            order.append(following.id)
            skip_task(connection, following.id, by=ANN)
        assert first.id not in order
        again = take_next(connection, "work", by=ANN)
        assert again is not None
        assert again.id == first.id, "the one that was skipped first"
        with pytest.raises(PermissionDeniedError):
            skip_task(connection, first.id, by=BEN)


def test_a_returned_task_goes_to_others_and_begins_anew(database: Database) -> None:
    with database.write() as connection:
        untouched, begun = asked(connection, episodes(connection, 2), double_share=0.0)
        for task in (untouched, begun):
            take(connection, task.id, by=ANN)
        same = return_task(connection, untouched.id, by=ANN)
        assert (same.id, same.state, same.assigned_to) == (untouched.id, "open", None)
        write(connection, begun.id, said(), ANN)
        new = return_task(connection, begun.id, by=ANN, why="too dark")
        assert new.id != begun.id
        assert (new.state, new.version, new.content) == ("open", 0, begun.start)
        assert new.frames is not None
        assert find_task(connection, begun.id).state == "dropped"
        assert take_next(connection, "work", by=ANN) is None
        assert list_offers(connection, by=ANN) == []
        assert list_offers(connection, by=BEN)[0].open == 2
        for expected in (untouched.id, new.id):
            taken = take_next(connection, "work", by=BEN)
            assert taken is not None
            assert taken.id == expected
            return_task(connection, taken.id, by=BEN)
        assert take_next(connection, "work", by=BEN) is None
        assert take_next(connection, "work", by=CY) is not None


def test_half_of_a_pair_that_was_returned_is_the_half_of_somebody_else(database: Database) -> None:
    with database.write() as connection:
        pair = asked(connection, episodes(connection, 1), double_share=1.0)
        mine = take_next(connection, "work", by=ANN)
        assert mine is not None
        write(connection, mine.id, said(), ANN)
        new = return_task(connection, mine.id, by=ANN)
        assert new.pair == pair[0].pair
        assert take_next(connection, "work", by=ANN) is None, "nor the other half"
        assert len(pair_of(connection, str(new.pair))) == 2
        held = [take_next(connection, "work", by=by) for by in (BEN, CY)]
        assert {each.id for each in held if each} == {
            new.id, next(each.id for each in pair if each.id != mine.id)
        }  # fmt: skip
        with pytest.raises(PermissionDeniedError):
            find_task(connection, mine.id, seen_by=BEN)


def test_what_a_lead_gave_back_is_finished_by_whom_it_was_given_to(database: Database) -> None:
    with database.write() as connection:
        made = asked(connection, episodes(connection, 1))
        take(connection, made[0].id, by=ANN)
        finish(connection, made[0].id, said(), ANN)
        give_back(connection, made[0].id, "look again", by=LEAD)
        with pytest.raises(TaskStateError, match="Ask a lead"):
            return_task(connection, made[0].id, by=ANN)
