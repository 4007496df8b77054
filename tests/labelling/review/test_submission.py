"""What is handed in is whole, and counts when a lead or the queue says so."""

from __future__ import annotations

import pytest
from tests.labelling.work import (
    ANN,
    BEN,
    LEAD,
    asked,
    episodes,
    finish,
    said,
    taxonomy,
    write,
)

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.labelling.labels import labels_of
from corporeal.labelling.queues import add_seconds, assign, take, take_next
from corporeal.labelling.review import IncompleteError, accept, give_back, submit
from corporeal.labelling.tasks import (
    find_task,
)


def test_what_is_not_complete_is_not_submitted_and_all_of_it_is_said(database: Database) -> None:
    with database.write() as connection:
        (made,) = asked(connection, episodes(connection, 1))
        with pytest.raises(IncompleteError) as told:
            submit(connection, made.id, by=ANN)
        assert any("outcome" in each for each in told.value.complaints)
        assert any("Phases" in each for each in told.value.complaints)
        assert "\n" not in str(told.value)
        assert find_task(connection, made.id).state == "open"


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
        ):
            with pytest.raises(PermissionDeniedError):
                call()
