"""Tasks: who is asked what, in which order, and what may follow what."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.labelling.tasks.work import (
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

from corporeal.catalog.accounts import add_account
from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import UnknownEpisodeError, find_episode
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.labelling.labels import labels_of
from corporeal.labelling.tasks import (
    IncompleteError,
    TaskStateError,
    UnknownTaskError,
    accept,
    add_seconds,
    assign,
    frames_of,
    give_back,
    may_see,
    submit,
    take,
    take_next,
    task,
    tasks,
)
from corporeal.labelling.tasks.assignment import drop, give_up, set_priority
from corporeal.labelling.tasks.label_task import NEXT, TASK_STATES, change_state, hidden


def test_the_same_seed_asks_the_same_twice_and_at_least_the_share(database: Database) -> None:
    drawn: list[set[str]] = []
    for seed in (0, 0, 1):
        with database.write() as connection:
            names = episodes(connection, 25)
            made = asked(connection, names, queue=f"q{len(drawn)}", double_share=0.1, seed=seed)
            drawn.append({each.episode for each in made if each.pair})
            for each in made:
                drop(connection, each.id, "again", by=LEAD)
    assert len(drawn[0]) == 3
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_share_begins_without_its_proposal_which_is_kept_unseen(database: Database) -> None:
    with database.write() as connection:
        names = episodes(connection, 10)
        starts = {name: said(confirmed=False) for name in names}
        made = asked(connection, names, blind_share=0.2, starts=starts)
        blind = [each for each in made if each.is_blind]
        assert len(blind) == 2
        assert all(not each.annotation.segments for each in blind)
        assert all("proposal" not in each.settings for each in blind)
        assert blind[0].annotation.reference == "observations/head"
        assert hidden(connection, blind[0].id)["proposal"]["segments"]
        shown = next(each for each in made if not each.is_blind)
        assert len(task(connection, shown.id).annotation.segments) == 3


def test_what_has_labels_or_is_asked_already_is_left_out(database: Database) -> None:
    with database.write() as connection:
        names = episodes(connection, 3)
        made = asked(connection, names[:2])
        finish(connection, made[0].id, said(), ANN)
        accept(connection, made[0].id, by=LEAD)
        assert [each.episode for each in asked(connection, names)] == [names[2]]
        again = asked(connection, names, again=True)
        assert [each.episode for each in again] == [names[0]]


def test_the_next_task_is_the_most_urgent_and_comes_again(database: Database) -> None:
    with database.write() as connection:
        made = asked(connection, episodes(connection, 3))
        set_priority(connection, made[1].id, 5, by=LEAD)
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


def test_two_of_a_pair_see_nothing_of_each_other_until_both_are_done(database: Database) -> None:
    with database.write() as connection:
        made = asked(connection, episodes(connection, 1), double_share=1.0)
        take(connection, made[0].id, by=ANN)
        finish(connection, made[0].id, said(), ANN)
        one, two = (task(connection, each.id) for each in made)
        assert may_see(connection, one, ANN)
        assert may_see(connection, one, LEAD)
        assert not may_see(connection, one, BEN)
        assert not may_see(connection, one, CY)
        take(connection, two.id, by=BEN)
        assert not may_see(connection, task(connection, two.id), ANN)
        finish(connection, two.id, said(grasp=150), BEN)
        assert may_see(connection, task(connection, one.id), BEN)
        assert may_see(connection, task(connection, two.id), ANN)


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
            drop(connection, made.id, "no", by=LEAD)


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


def test_every_state_has_its_followers() -> None:
    assert set(NEXT) == set(TASK_STATES)
    reached = {"open"} | {after for follow in NEXT.values() for after in follow}
    assert reached == set(TASK_STATES)


def test_what_is_not_complete_is_not_submitted_and_all_of_it_is_said(database: Database) -> None:
    with database.write() as connection:
        (made,) = asked(connection, episodes(connection, 1))
        with pytest.raises(IncompleteError) as told:
            submit(connection, made.id, by=ANN)
        assert any("outcome" in each for each in told.value.complaints)
        assert any("Phases" in each for each in told.value.complaints)
        assert "\n" not in str(told.value)
        assert task(connection, made.id).state == "open"


def test_accepted_labels_are_in_force_and_the_episode_is_annotated(database: Database) -> None:
    with database.write() as connection:
        (name,) = episodes(connection, 1)
        (made,) = asked(connection, [name])
        finish(connection, made.id, said(), ANN)
        labels = accept(connection, made.id, by=LEAD)
        assert (labels.number, labels.who, labels.stale) == (1, "ann", None)
        assert find_episode(connection, name).state == "annotated"
        held = labels_of(connection, name)
        assert held is not None
        assert held.annotation.in_lane("phase") == said().in_lane("phase")
        assert held.hash == labels.hash
        assert held.taxonomy == taxonomy().hash


def test_without_review_what_is_submitted_counts_at_once(database: Database) -> None:
    with database.write() as connection:
        (name,) = episodes(connection, 1)
        (made,) = asked(connection, [name], review=False)
        assert finish(connection, made.id, said(), ANN).state == "done"
        assert labels_of(connection, name) is not None


def test_only_those_may_who_may(database: Database) -> None:
    viewer = Actor("vic", "viewer")
    with database.write() as connection:
        names = episodes(connection, 1)
        with pytest.raises(PermissionDeniedError):
            asked(connection, names, by=ANN)
        (made,) = asked(connection, names)
        take(connection, made.id, by=ANN)
        for call in (
            lambda: take_next(connection, "work", by=viewer),
            lambda: write(connection, made.id, said(), BEN),
            lambda: submit(connection, made.id, by=BEN),
            lambda: add_seconds(connection, made.id, 1.0, by=BEN),
            lambda: accept(connection, made.id, by=ANN),
            lambda: give_back(connection, made.id, "why", by=ANN),
            lambda: assign(connection, made.id, "ben", by=ANN),
            lambda: drop(connection, made.id, "why", by=ANN),
        ):
            with pytest.raises(PermissionDeniedError):
                call()


def test_time_is_added_up_and_bounded(database: Database) -> None:
    with database.write() as connection:
        (made,) = asked(connection, episodes(connection, 1))
        take(connection, made.id, by=ANN)
        assert add_seconds(connection, made.id, 2.5, by=ANN) == 2.5
        assert add_seconds(connection, made.id, 4.0, by=ANN) == 6.5
        assert task(connection, made.id).seconds == 6.5
        for wrong in (-1.0, float("nan"), 1e9):
            with pytest.raises(CatalogError, match="seconds"):
                add_seconds(connection, made.id, wrong, by=ANN)


def test_a_task_that_was_not_begun_is_given_up_and_one_with_work_is_not(
    database: Database,
) -> None:
    with database.write() as connection:
        (made,) = asked(connection, episodes(connection, 1))
        take(connection, made.id, by=ANN)
        assert give_up(connection, made.id, by=ANN).assigned_to is None
        write(connection, made.id, said(), ANN)
        with pytest.raises(TaskStateError, match="1 edits"):
            give_up(connection, made.id, by=ANN)


def test_frames_survive_as_they_were(database: Database) -> None:
    with database.write() as connection:
        (name,) = episodes(connection, 1)
        (made,) = asked(connection, [name])
        kept = frames_of(connection, made.id)
        assert kept is not None
        assert kept.stream == "observations/head"
        assert [int(kept.stamps[0]), int(kept.stamps[-1]), len(kept.stamps)] == [0, 9966666667, 300]


def test_what_does_not_exist_is_said_so(database: Database) -> None:
    with database.write() as connection:
        episodes(connection, 1)
        with pytest.raises(UnknownTaskError):
            task(connection, "nothing")
        with pytest.raises(UnknownEpisodeError):
            asked(connection, ["nothing"])
        for queue in ("", "Work", "../x", "a" * 65):
            with pytest.raises(CatalogError, match="queue"):
                asked(connection, [], queue=queue)
        with pytest.raises(CatalogError, match="double share"):
            asked(connection, [], double_share=1.5)
        assert tasks(connection) == []
