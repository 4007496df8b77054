"""Answers are kept until the catalogue changes; dashboards are prepared beforehand."""

from __future__ import annotations

import threading

from sqlalchemy import Connection

from corporeal.catalog.audit import Change, record
from corporeal.catalog.workspace import Workspace
from corporeal.operations.coverage import USUAL_FIELDS, find_cache
from corporeal.studio.response_cache import ResponseCache, warm, warming


def test_an_answer_is_made_once_until_something_happens(workspace: Workspace) -> None:
    kept: ResponseCache[int] = ResponseCache()
    made: list[int] = []

    def make(_: Connection) -> int:
        made.append(len(made))
        return made[-1]

    assert kept.get(workspace.database, "one", make) == 0
    assert kept.get(workspace.database, "one", make) == 0
    assert kept.get(workspace.database, "other", make) == 1
    with workspace.database.write() as connection:
        record(connection, [Change("tester", "tried", "workspace")])
    assert kept.get(workspace.database, "one", make) == 2


def test_warming_reads_the_metadata_of_all_episodes(workspace: Workspace) -> None:
    warm(workspace, threading.Event())
    with workspace.database.read() as connection:
        notes = find_cache(connection)
        assert len(notes._places) == 3
        assert set(USUAL_FIELDS) <= set(notes._columns)


def test_warming_that_is_not_due_yet_ends_at_once(workspace: Workspace) -> None:
    with warming(workspace):
        assert any(each.name == "studio-warming" for each in threading.enumerate())
    assert not any(each.name == "studio-warming" for each in threading.enumerate())
