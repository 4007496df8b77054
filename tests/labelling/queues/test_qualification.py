"""Gold labels first, production afterwards."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection
from tests.labelling.work import ANN, BEN, LEAD, asked, episodes, finish, said, taxonomy

from corporeal.catalog.accounts import add_account
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.permission import Actor
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.labels.versions import label_history
from corporeal.labelling.queues import assign, qualifications, take_next
from corporeal.labelling.queues.qualification import gold_tasks, is_qualified
from corporeal.labelling.review import accept, requeue_labels
from corporeal.labelling.tasks import TaskOptions, create_tasks, find_task


def _gold(connection: Connection, count: int) -> list[str]:
    """Episodes labelled by a lead, which a queue now measures people by."""
    names = episodes(connection, count + 2)
    for made in asked(connection, names[:count], queue="gold-work"):
        finish(connection, made.id, said(), LEAD)
        accept(connection, made.id, by=LEAD)
    options = TaskOptions("qualify", kind="qualify")
    create_tasks(connection, names[:count], taxonomy(), options, by=LEAD)
    return names


def _try(connection: Connection, by: Actor, work: Annotation) -> list[str]:
    """Do tasks of the queue until none is left; the episodes seen."""
    seen = []
    for _ in range(3):
        got = take_next(connection, "qualify", by=by)
        assert got is not None
        assert not got.annotation.segments
        seen.append(got.episode)
        finish(connection, got.id, work, by)
    return seen


def test_good_work_on_gold_qualifies(database: Database) -> None:
    with database.write() as connection:
        _gold(connection, 3)
        assert not is_qualified(connection, "ann", taxonomy().hash)
        _try(connection, ANN, said(grasp=101))
        assert is_qualified(connection, "ann", taxonomy().hash)
        (made,) = qualifications(connection, account="ann")
        assert made.figures["mean_difference_frames"] < 1
        assert take_next(connection, "qualify", by=ANN) is None
        assert not is_qualified(connection, "ben", taxonomy().hash)


def test_bad_work_does_not_and_the_next_try_is_on_other_episodes(database: Database) -> None:
    with database.write() as connection:
        _gold(connection, 6)
        first = _try(connection, ANN, said(grasp=150, retreat=160))
        (made,) = qualifications(connection, account="ann")
        assert not made.passed
        assert "boundaries" in made.figures["failed"]
        second = _try(connection, ANN, said())
        assert not set(first) & set(second)
        assert is_qualified(connection, "ann", taxonomy().hash)


def test_gold_that_was_seen_measures_nobody_again(database: Database) -> None:
    with database.write() as connection:
        _gold(connection, 3)
        _try(connection, ANN, said(grasp=150))
        assert take_next(connection, "qualify", by=ANN) is None


def test_measuring_makes_no_labels_and_the_gold_is_not_shown(database: Database) -> None:
    with database.write() as connection:
        names = _gold(connection, 3)
        got = take_next(connection, "qualify", by=ANN)
        assert got is not None
        assert "gold" not in got.settings
        assert got.start["segments"] == []
        assert find_task(connection, got.id).hidden["gold"]["content"]["segments"]
        assert all(each.start["segments"] == [] for each in gold_tasks(connection, "qualify"))
        finish(connection, got.id, said(grasp=120), ANN)
        assert all(len(label_history(connection, name)) <= 1 for name in names)


def test_production_waits_for_the_qualification(database: Database) -> None:
    root = Actor("root", "admin")
    with database.write() as connection:
        for name, role in (("root", "admin"), ("ann", "annotator"), ("ben", "annotator")):
            add_account(connection, name, role, by=root)
        names = _gold(connection, 3)
        (work,) = asked(connection, names[3:4], needs_qualification=True)
        assert take_next(connection, "work", by=ANN) is None
        with pytest.raises(CatalogError, match="has not qualified"):
            assign(connection, work.id, "ann", by=LEAD)
        _try(connection, ANN, said())
        got = take_next(connection, "work", by=ANN)
        assert got is not None
        assert got.id == work.id
        assert take_next(connection, "work", by=BEN) is None


def test_a_change_of_words_asks_nobody_to_qualify_again(database: Database) -> None:
    worded = taxonomy("1.0.1").model_copy(update={"guidelines": "Look twice."})
    with database.write() as connection:
        _gold(connection, 3)
        _try(connection, ANN, said())
        requeue_labels(connection, taxonomy(), worded, by=LEAD)
        assert is_qualified(connection, "ann", worded.hash)
        assert not is_qualified(connection, "ben", worded.hash)
        assert {each.taxonomy for each in gold_tasks(connection, "qualify")} == {worded.hash}
        other = taxonomy("2.0.0", rule="Otherwise.")
        requeue_labels(connection, worded, other, by=LEAD)
        assert not is_qualified(connection, "ann", other.hash)


def test_gold_is_made_of_labels_in_force_only(database: Database) -> None:
    with database.write() as connection:
        names = episodes(connection, 1)
        with pytest.raises(CatalogError, match="has no labels in force"):
            create_tasks(connection, names, taxonomy(), TaskOptions("q", kind="qualify"), by=LEAD)
