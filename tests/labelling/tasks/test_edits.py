"""Every keystroke is saved once, in order, and can be gone back to."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event
from tests.labelling.work import ANN, LEAD, STAMPS, asked, episodes, said, write

from corporeal.catalog.database import CatalogError, Database
from corporeal.labelling.annotation import (
    AnnotationError,
    Drop,
    Edit,
    Put,
    Segment,
    Set,
    apply_edit,
)
from corporeal.labelling.review import submit
from corporeal.labelling.tasks import (
    StaleEditError,
    TaskStateError,
    edits_of,
    find_task,
    save_edits,
)


def _put(number: int, *, edit_id: str = "", start: int = 0) -> Edit:
    segment = Segment(id=f"s{number}", lane="phase", label="reach", start_ns=int(STAMPS[start]),
                      end_ns=int(STAMPS[start + 1]))  # fmt: skip
    return Edit(id=edit_id or f"e{number}", action="drag", steps=(Put(put=segment),))


def _made(database: Database) -> str:
    with database.write() as connection:
        return asked(connection, episodes(connection, 1))[0].id


def test_edits_are_kept_in_order_and_make_the_content(database: Database) -> None:
    name = _made(database)
    with database.write() as connection:
        saved = save_edits(connection, name, [_put(1), _put(2)], base_version=0, by=ANN)
        assert saved.version == 2
        dropped = Edit(id="e3", action="delete", steps=(Drop(drop="s1"),))
        saved = save_edits(connection, name, [dropped], base_version=2, by=ANN)
    with database.read() as connection:
        held = find_task(connection, name)
        assert held.annotation == saved.content
        assert [each.id for each in held.annotation.segments] == ["s2"]
        assert (held.state, held.assigned_to, held.version) == ("working", "ann", 3)
        assert [each.edit.id for each in edits_of(connection, name)] == ["e1", "e2", "e3"]
        assert [each.number for each in edits_of(connection, name, after=1)] == [2, 3]


def test_sending_a_batch_again_changes_nothing(database: Database) -> None:
    name = _made(database)
    with database.write() as connection:
        save_edits(connection, name, [_put(1), _put(2)], base_version=0, by=ANN)
        again = save_edits(connection, name, [_put(1), _put(2)], base_version=0, by=ANN)
        assert again.version == 2
        more = save_edits(connection, name, [_put(1), _put(2), _put(3)], base_version=0, by=ANN)
        assert more.version == 3
        assert [each.edit.id for each in edits_of(connection, name)] == ["e1", "e2", "e3"]


def test_somebody_elses_edits_in_between_are_told(database: Database) -> None:
    name = _made(database)
    with database.write() as connection:
        save_edits(connection, name, [_put(1)], base_version=0, by=ANN)
        save_edits(connection, name, [_put(2)], base_version=1, by=LEAD)
        with pytest.raises(StaleEditError) as told:
            save_edits(connection, name, [_put(3)], base_version=1, by=ANN)
        assert told.value.version == 2
        assert [each.id for each in told.value.since] == ["e2"]
        assert told.value.who == ["lea"]
        assert find_task(connection, name).version == 2
        saved = save_edits(connection, name, [_put(3)], base_version=2, by=ANN)
        assert saved.version == 3


def test_another_window_of_the_same_person_is_told_too(database: Database) -> None:
    name = _made(database)
    with database.write() as connection:
        save_edits(connection, name, [_put(1)], base_version=0, by=ANN)
        with pytest.raises(StaleEditError):
            save_edits(connection, name, [_put(2)], base_version=0, by=ANN)


def test_a_batch_is_saved_whole_or_not_at_all(database: Database) -> None:
    name = _made(database)
    backwards = Segment(id="x", lane="phase", label="reach", start_ns=9, end_ns=3)
    wrong = Edit(id="bad", action="drag", steps=(Put(put=backwards),))
    with pytest.raises(AnnotationError), database.write() as connection:
        save_edits(connection, name, [_put(1), wrong], base_version=0, by=ANN)
    with database.read() as connection:
        assert find_task(connection, name).version == 0
        assert edits_of(connection, name) == []


def test_any_earlier_version_can_be_seen_again(database: Database) -> None:
    name = _made(database)
    seen = []
    with database.write() as connection:
        seen.append(find_task(connection, name).annotation)
        for number in range(1, 6):
            edit = _put(number % 3, edit_id=f"e{number}", start=number)
            saved = save_edits(connection, name, [edit], base_version=number - 1, by=ANN)
            seen.append(saved.content)
        content = find_task(connection, name).begun_with
        assert content == seen[0]
        for saved_edit, wanted in zip(edits_of(connection, name), seen[1:], strict=True):
            content = apply_edit(content, saved_edit.edit)
            assert content == wanted


def test_what_is_handed_in_takes_no_more_edits_but_an_old_batch_is_answered(
    database: Database,
) -> None:
    name = _made(database)
    with database.write() as connection:
        save_edits(connection, name, [_put(1)], base_version=0, by=ANN)
        drop = Edit(id="e2", action="delete", steps=(Drop(drop="s1"),))
        save_edits(connection, name, [drop], base_version=1, by=ANN)
        held = write(connection, name, said(), ANN)
        submit(connection, name, by=ANN)
        assert save_edits(connection, name, [_put(1)], base_version=0, by=ANN).version == 3
        with pytest.raises(TaskStateError, match="is submitted"):
            save_edits(connection, name, [_put(9)], base_version=held.version, by=ANN)


def test_what_a_database_cannot_hold_is_refused(database: Database) -> None:
    name = _made(database)
    with database.write() as connection:
        for base in (-1, 1):
            with pytest.raises(CatalogError, match="base version"):
                save_edits(connection, name, [_put(1)], base_version=base, by=ANN)
        many = [_put(number) for number in range(501)]
        with pytest.raises(CatalogError, match="at most at once"):
            save_edits(connection, name, many, base_version=0, by=ANN)
        zero = Edit(id="z", action="type", steps=(Set(set={"reference": "a\0b"}),))
        with pytest.raises(CatalogError, match="zero bytes"):
            save_edits(connection, name, [zero], base_version=0, by=ANN)


def test_a_late_edit_asks_no_more_of_the_database_than_an_early_one(database: Database) -> None:
    name = _made(database)
    read: list[int] = []

    def count(_: Any, cursor: Any, *__: Any) -> None:
        # What a select found is still to be fetched; PostgreSQL says how much, SQLite does not.
        read.append(max(int(cursor.rowcount), 0))

    asked = []
    with database.write() as connection:
        event.listen(connection, "after_cursor_execute", count)
        for number in range(300):
            edit = _put(number % 20, edit_id=f"e{number}", start=number % 20)
            read.clear()
            save_edits(connection, name, [edit], base_version=number, by=ANN)
            asked.append((len(read), sum(read)))
    assert asked[-1] == asked[30]
