"""Reviews over a real catalogue: drawn, taken, decided, taken back, closed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert, update
from tests.catalog.entries import entry

from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import add_episodes, find_episode, move_episodes
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.catalog.tables import MEMBER, RELEASE, REVIEW_ITEM
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.operations.review import (
    DecisionResult,
    Review,
    ReviewChoice,
    ReviewConflictError,
    ReviewItem,
    SamplingRequest,
    close_review,
    count_taken_by_others,
    create_review,
    decide,
    items_about,
    items_of,
    preview,
    progress_of,
    recent_decisions,
    review_of,
    skip,
    take_next,
    undo,
)
from corporeal.operations.review.queue import item_of, neighbours

ADA, BO = Actor("ada", "lead"), Actor("bo", "lead")
ANN, VIC = Actor("ann", "annotator"), Actor("vic", "viewer")
NOON_NS = 1_700_049_600 * 10**9
MINUTE_NS = 60 * 10**9
ACCEPT = ReviewChoice("accept")
CAMERA = ReviewChoice("reject", "camera", "covered by a hand")


@pytest.fixture
def ids(database: Database) -> list[str]:
    """Twenty episodes of one session a minute apart, then twenty of another; two quarantined."""
    made = [
        entry(number, task="reach", operator=f"op{number % 2}", station="st1", batch="monday",
              session=f"s{number // 20}", recorded_ns=NOON_NS + number * MINUTE_NS)
        for number in range(40)
    ]  # fmt: skip
    with database.write() as connection:
        add_episodes(connection, made, who="tester")
        names = [each.id for each in made]
        move_episodes(connection, names, "accepted", who="tester", why=None)
        move_episodes(connection, names[18:20], "quarantined", who="tester", why=None)
    return names


def _create(database: Database, name: str = "monday", query: str = "", **wanted: Any) -> Review:
    with database.write() as connection:
        return create_review(connection, name, query, SamplingRequest(**wanted), by=ADA)


def _next(database: Database, review: Review, by: Actor = ADA) -> ReviewItem | None:
    with database.write() as connection:
        return take_next(connection, review, by=by).item


def _decide(
    database: Database, review: Review, episode: str, choice: ReviewChoice, by: Actor = ADA
) -> DecisionResult:
    with database.write() as connection:
        return decide(connection, review, episode, choice, by=by)


def _state(database: Database, episode: str) -> str:
    with database.read() as connection:
        return str(find_episode(connection, episode).state)


def _drawn(connection: Connection, review: Review) -> Sequence[str]:
    return [each.episode for each in items_of(connection, review)]


def test_a_review_is_drawn_and_says_what_it_proves(database: Database, ids: list[str]) -> None:
    with database.read() as connection:
        planned = preview(connection, "batch = monday", SamplingRequest())
    review = _create(database, query="batch = monday")
    assert (planned.lot, planned.sample) == (40, 5)
    assert review.plan.sample == 5
    with database.read() as connection:
        progress = progress_of(connection, review_of(connection, "monday"))
        assert (progress.items, progress.decided, progress.lot.state) == (5, 0, "undecided")
        assert set(_drawn(connection, review)) <= set(ids)


def test_with_a_limit_as_many_are_drawn_as_prove_it(database: Database, ids: list[str]) -> None:
    review = _create(database, limit=0.1)
    assert review.plan.accept is not None
    assert review.plan.proves <= 0.1
    assert 5 < review.plan.sample < len(ids)


def test_all_quarantined_come_on_top_and_do_not_count(database: Database, ids: list[str]) -> None:
    review = _create(database, all_quarantined=True)
    with database.read() as connection:
        found = items_of(connection, review)
    assert [each.episode for each in found if each.because == "quarantined"] == sorted(ids[18:20])
    assert review.plan.lot == 38
    for each in found[:2]:
        _decide(database, review, each.episode, CAMERA)
    with database.read() as connection:
        assert progress_of(connection, review).lot.decided == 0


def test_what_was_reviewed_is_not_drawn_again(database: Database, ids: list[str]) -> None:
    first = _create(database, share=0.5)
    second = _create(database, "second", share=1.0)
    with database.read() as connection:
        assert not set(_drawn(connection, first)) & set(_drawn(connection, second))
    with pytest.raises(CatalogError, match="no episode is left"):
        _create(database, "third")


def test_a_query_on_the_state_is_taken_as_it_is(database: Database, ids: list[str]) -> None:
    review = _create(database, query="state = quarantined", share=1.0)
    with database.read() as connection:
        assert sorted(_drawn(connection, review)) == sorted(ids[18:20])


def test_a_rejected_episode_pulls_in_its_neighbours(database: Database, ids: list[str]) -> None:
    review = _create(database, query=f"id = '{ids[10]}'", share=1.0)
    outcome = _decide(database, review, ids[10], CAMERA)
    assert list(outcome.pulled) == [ids[8], ids[9], ids[11], ids[12]]
    assert outcome.state == "quarantined"
    taken = _next(database, review)
    assert taken is not None
    assert (taken.episode, taken.because) == (ids[8], f"neighbour of {ids[10]}")
    _decide(database, review, ids[8], ReviewChoice("reject", "fall"))
    assert _state(database, ids[8]) == "failed"
    following = _next(database, review)
    assert following is not None
    assert following.because == f"neighbour of {ids[8]}", "its own neighbours come first"
    with database.read() as connection:
        progress = progress_of(connection, review)
    assert (progress.neighbours, progress.rejected) == (6, 2)
    assert (progress.lot.decided, progress.lot.rejected) == (1, 1), "neighbours do not count"


def test_neighbours_end_with_the_session_and_the_day(database: Database, ids: list[str]) -> None:
    with database.write() as connection:
        late = entry(90, station="st1", session="s1", recorded_ns=NOON_NS + 86_400 * 10**9)
        lone = entry(91, station=None, session=None, recorded_ns=NOON_NS)
        add_episodes(connection, [late, lone], who="tester")
        assert neighbours(connection, find_episode(connection, ids[19])) == [ids[17], ids[18]]
        assert neighbours(connection, find_episode(connection, ids[20])) == [ids[21], ids[22]]
        assert neighbours(connection, find_episode(connection, late.id)) == []
        assert neighbours(connection, find_episode(connection, lone.id)) == []


def test_a_neighbour_that_was_drawn_anyway_comes_sooner_and_counts(
    database: Database, ids: list[str]
) -> None:
    review = _create(database, query="session = s0", share=1.0)
    outcome = _decide(database, review, ids[10], CAMERA)
    assert outcome.pulled == ()
    taken = _next(database, review)
    assert taken is not None
    assert (taken.episode, taken.because) == (ids[8], "drawn")


def test_a_decision_is_in_the_state_the_queue_and_the_log(
    database: Database, ids: list[str]
) -> None:
    review = _create(database, share=1.0)
    _decide(database, review, ids[18], ReviewChoice("accept", seconds=12.5, key="k" * 8))
    with database.read() as connection:
        found = items_about(connection, ids[18])[0]
        assert (found.decision, found.decided_by, found.seconds) == ("accept", "ada", 12.5)
        assert find_episode(connection, ids[18]).state == "accepted"
        said = [each["what"] for each in events_of(connection, f"episode:{ids[18]}")]
        assert said[-2:] == ["decision", "state"]
        assert not list(verify(connection))


def test_what_was_accepted_unseen_is_in_the_statement_the_log_and_the_queue(
    database: Database, ids: list[str]
) -> None:
    review = _create(database, query="session = s0", share=1.0)
    with database.write() as connection:
        long_ago = (datetime.now(UTC) - timedelta(minutes=5)).isoformat().replace("+00:00", "Z")
        of = REVIEW_ITEM.c.episode.in_(ids[:3])
        connection.execute(update(REVIEW_ITEM).where(of).values(taken_by="ada", taken_at=long_ago))
    _decide(database, review, ids[0], ReviewChoice("accept", shown=0.9))
    _decide(database, review, ids[1], ReviewChoice("accept", shown=0.2))
    _decide(database, review, ids[2], ReviewChoice("reject", "sync", shown=0.1))
    _decide(database, review, ids[3], ACCEPT)
    with database.read() as connection:
        found = {each.episode: each for each in items_of(connection, review)}
        progress = progress_of(connection, review)
        said = events_of(connection, f"episode:{ids[1]}")
    assert [found[each].shown for each in ids[:4]] == [0.9, 0.2, 0.1, None]
    assert [found[each].is_unseen for each in ids[:4]] == [False, True, False, False]
    assert (progress.unseen, progress.unknown) == (1, 1)
    assert "1 of 3 accepted unseen (less than 60 % shown)" in progress.lot.words
    assert "1 of 3 accepted outside Studio" in progress.lot.words
    told = next(each["details"] for each in said if each["what"] == "review")
    assert (told["shown"], told["unseen"]) == (0.2, True)
    with database.write() as connection:
        undo(connection, review, ids[1], by=ADA)
        assert item_of(connection, review.name, ids[1]).shown is None
        assert progress_of(connection, review).unseen == 0


def test_nobody_has_seen_more_than_the_time_allows(database: Database, ids: list[str]) -> None:
    review = _create(database, query="session = s0", share=1.0)
    taken = _next(database, review)
    assert taken is not None
    result = _decide(database, review, taken.episode, ReviewChoice("accept", shown=1.0))
    assert result.item.shown is not None
    assert result.item.shown < 0.6, "taken a moment ago"
    never_taken = next(each for each in ids if each != taken.episode)
    assert _decide(database, review, never_taken, ReviewChoice("accept", shown=1.0)).item.shown == 0


def test_a_decision_sent_twice_is_one(database: Database, ids: list[str]) -> None:
    review = _create(database, share=1.0)
    choice = ReviewChoice("reject", "sync", key="0123456789", version=0)
    first = _decide(database, review, ids[5], choice)
    again = _decide(database, review, ids[5], choice)
    assert (first.again, again.again) == (False, True)
    assert again.item == first.item
    with database.write() as connection:
        undo(connection, review, ids[5], by=ADA, key="undo-0001")
    late = _decide(database, review, ids[5], choice)
    assert late.again, "a retry that comes after it was taken back changes nothing"
    assert _state(database, ids[5]) == "accepted"


def test_two_people_are_told_of_each_other(database: Database, ids: list[str]) -> None:
    review = _create(database, share=1.0)
    _decide(database, review, ids[5], CAMERA)
    with pytest.raises(ReviewConflictError, match=r"ada has decided .*reject because of camera"):
        _decide(database, review, ids[5], ReviewChoice("accept", version=0), by=BO)
    with database.write() as connection:
        undo(connection, review, ids[5], by=ADA)
    with pytest.raises(ReviewConflictError, match="taken it back while"):
        _decide(database, review, ids[5], ReviewChoice("accept", version=0), by=BO)
    _decide(database, review, ids[5], ReviewChoice("accept", version=2), by=BO)


def test_two_reviewers_at_once_never_get_the_same_episode(
    database: Database, ids: list[str]
) -> None:
    review = _create(database, share=1.0)
    seen: dict[str, list[str]] = {"ada": [], "bo": []}
    errors: list[BaseException] = []

    def work(by: Actor) -> None:
        try:
            while (item := _next(database, review, by)) is not None:
                seen[by.name].append(item.episode)
                choice = CAMERA if len(seen[by.name]) == 3 else ACCEPT
                _decide(database, review, item.episode, choice, by)
        except BaseException as error:  # A thread's error is nobody's, unless it is carried out.
            errors.append(error)

    threads = [threading.Thread(target=work, args=(by,)) for by in (ADA, BO)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=60)
    assert not errors
    assert sorted(seen["ada"] + seen["bo"]) == sorted(ids)
    with database.read() as connection:
        progress = progress_of(connection, review)
        assert progress.decided == progress.items == 40
        assert not list(verify(connection))


def test_an_episode_stays_with_its_reviewer_and_frees_itself(
    database: Database, ids: list[str]
) -> None:
    review = _create(database, query=f"id in ('{ids[0]}', '{ids[1]}')", share=1.0)
    mine, theirs = _next(database, review), _next(database, review, BO)
    assert mine is not None
    assert theirs is not None
    assert mine.episode != theirs.episode
    again = _next(database, review)
    assert again is not None
    assert again.episode == mine.episode
    assert _next(database, review, ANN) is None
    with database.write() as connection:
        assert count_taken_by_others(connection, review, by=ANN) == 2
        old = (datetime.now(UTC) - timedelta(minutes=11)).isoformat().replace("+00:00", "Z")
        connection.execute(
            update(REVIEW_ITEM).where(REVIEW_ITEM.c.episode == mine.episode).values(taken_at=old)
        )
    freed = _next(database, review, ANN)
    assert freed is not None
    assert freed.episode == mine.episode


def test_a_skipped_episode_comes_again_at_the_end(database: Database, ids: list[str]) -> None:
    review = _create(database, query="session = s0", share=0.2)
    first = _next(database, review)
    assert first is not None
    with database.write() as connection:
        skip(connection, review, first.episode, by=ADA)
    order = []
    while (item := _next(database, review)) is not None:
        order.append(item.episode)
        _decide(database, review, item.episode, ACCEPT)
    assert len(order) == 4
    assert order[-1] == first.episode


def test_undo_brings_everything_back(database: Database, ids: list[str]) -> None:
    review = _create(database, query=f"id = '{ids[10]}'", share=1.0)
    _decide(database, review, ids[10], CAMERA)
    with database.write() as connection:
        assert [each.episode for each in recent_decisions(connection, review, by=ADA)] == [ids[10]]
        outcome = undo(connection, review, ids[10], by=ADA, key="a-key-of-mine")
        twice = undo(connection, review, ids[10], by=ADA, key="a-key-of-mine")
    assert (outcome.state, twice.again) == ("accepted", True)
    with database.read() as connection:
        progress = progress_of(connection, review)
        assert (progress.items, progress.decided, progress.neighbours) == (1, 0, 0)
        assert not list(verify(connection))
    back = _next(database, review)
    assert back is not None
    assert (back.episode, back.version) == (ids[10], 2)


def test_undo_leaves_a_state_that_somebody_has_changed_since(
    database: Database, ids: list[str]
) -> None:
    review = _create(database, share=1.0)
    _decide(database, review, ids[10], CAMERA)
    with database.write() as connection:
        move_episodes(connection, [ids[10]], "failed", who="bo", why="worse than that")
        outcome = undo(connection, review, ids[10], by=ADA)
    assert outcome.state == "failed"
    assert "changed after" in str(outcome.note)


def test_a_released_episode_keeps_its_state_and_its_releases_are_named(
    database: Database, ids: list[str]
) -> None:
    review = _create(database, share=1.0)
    with database.write() as connection:
        connection.execute(insert(RELEASE).values(
            name="walks", version="1.0.0", manifest="m", condition="", episodes=1,
            created_at="2026", created_by="ada", facts={},
        ))  # fmt: skip
        connection.execute(insert(MEMBER).values(name="walks", version="1.0.0", episode=ids[3],
                                                 split="train"))  # fmt: skip
        move_episodes(connection, [ids[3]], "released", who="ada", why=None)
    outcome = _decide(database, review, ids[3], CAMERA)
    assert (outcome.state, outcome.releases) == ("released", ("walks@1.0.0",))
    assert "never changes" in str(outcome.note)
    assert outcome.item.decision == "reject"


def test_an_annotator_reviews_and_a_lead_puts_it_into_effect(
    database: Database, ids: list[str]
) -> None:
    review = _create(database, share=1.0)
    outcome = _decide(database, review, ids[4], CAMERA, by=ANN)
    assert (outcome.state, outcome.item.decision) == ("accepted", "reject")
    assert "when a lead closes" in str(outcome.note)
    with database.write() as connection, pytest.raises(PermissionDeniedError):
        close_review(connection, review, by=ANN)
    with database.write() as connection:
        closed, _ = close_review(connection, review, by=BO)
        again, _ = close_review(connection, closed, by=BO)
    assert again.closed_at == closed.closed_at
    assert _state(database, ids[4]) == "quarantined"
    assert _next(database, closed) is None
    with pytest.raises(ReviewConflictError, match="closed"):
        _decide(database, closed, ids[6], ACCEPT)


def test_roles_are_asked_for(database: Database, ids: list[str]) -> None:
    with database.write() as connection, pytest.raises(PermissionDeniedError):
        create_review(connection, "mine", None, SamplingRequest(), by=ANN)
    review = _create(database)
    for attempt in (
        lambda: _next(database, review, VIC),
        lambda: _decide(database, review, ids[0], ACCEPT, VIC),
    ):
        with pytest.raises(PermissionDeniedError):
            attempt()
    _decide(database, _create(database, "all", share=1.0), _open_one(database, "all"), ACCEPT)
    with database.write() as connection:
        decided = next(each for each in items_of(connection, review_of(connection, "all")))
        with pytest.raises(PermissionDeniedError):
            undo(connection, review_of(connection, "all"), decided.episode, by=ANN)


def _open_one(database: Database, name: str) -> str:
    with database.read() as connection:
        return items_of(connection, review_of(connection, name))[0].episode


def test_the_lot_is_accepted_when_the_sample_is_good(database: Database, ids: list[str]) -> None:
    review = _create(database)
    while (item := _next(database, review)) is not None:
        _decide(database, review, item.episode, ACCEPT)
    with database.read() as connection:
        lot = progress_of(connection, review).lot
    assert lot.state == "accepted"
    assert lot.most_bad is not None
    assert lot.most_bad == pytest.approx(review.plan.proves)


def test_an_erased_episode_leaves_the_queue_and_the_sample(
    database: Database, ids: list[str]
) -> None:
    review = _create(database)
    with database.write() as connection:
        gone = items_of(connection, review)[0].episode
        move_episodes(connection, [gone], "erased", who="ada", why="asked for")
    with pytest.raises(ReviewConflictError, match="erased"):
        _decide(database, review, gone, ACCEPT)
    while (item := _next(database, review)) is not None:
        assert item.episode != gone
        _decide(database, review, item.episode, ACCEPT)
    with database.read() as connection:
        progress = progress_of(connection, review)
    assert (progress.plan.sample, progress.lot.state) == (4, "accepted")
    assert progress.plan.proves > review.plan.proves


@pytest.mark.parametrize(
    ("made", "error", "words"),
    [
        (lambda: ReviewChoice("reject", "boredom"), UnknownNameError, "task not done"),
        (lambda: ReviewChoice("reject", "other"), CatalogError, "some words"),
        (lambda: ReviewChoice("accept", text="x" * 501), CatalogError, "500 at most"),
        (lambda: SamplingRequest(share=0), CorporealError, "share"),
        (lambda: SamplingRequest(limit=1.0), CorporealError, "limit"),
        (lambda: SamplingRequest(confidence=0.2), CorporealError, "confidence"),
    ],
)
def test_what_makes_no_sense_is_refused(made: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        made()


def test_names_are_checked_and_unknown_ones_listed(database: Database, ids: list[str]) -> None:
    _create(database)
    for name in ("Monday", "../x", "", "a" * 65):
        with pytest.raises(CatalogError, match="review name"):
            _create(database, name)
    with pytest.raises(CatalogError, match="exists already"):
        _create(database)
    with database.read() as connection:
        with pytest.raises(UnknownNameError, match="monday"):
            review_of(connection, "mondya")
        with pytest.raises(CatalogError, match="not in the review"):
            item_of(connection, "monday", "nothing")
