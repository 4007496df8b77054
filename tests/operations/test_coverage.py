"""Coverage counts what is there, and every cell's query finds just that."""

from __future__ import annotations

import json
from collections import Counter

from sqlalchemy import insert
from tests.catalog.entries import changed
from tests.operations.made_up import fill, laboratory
from tests.operations.test_question_figures import outcome

from corporeal.catalog.database import Database
from corporeal.catalog.query import MetadataField, count_episodes
from corporeal.catalog.tables import DOCUMENT, GOVERNS
from corporeal.operations.coverage.axis import axes
from corporeal.operations.coverage.coverage import CoverageTable, cross
from corporeal.operations.coverage.metadata_cache import MetadataCache
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.questions.label_balance import measure_labels
from corporeal.operations.scope import Scope, read_scope
from corporeal.protocol import open_protocol


def _cross(database: Database, rows: str, columns: str) -> tuple[Scope, CoverageTable]:
    with database.read() as connection:
        scope = read_scope(connection)
        known = axes(connection, scope)
        return scope, cross(connection, scope, known[rows], known[columns])


def test_tasks_and_objects_are_counted_as_the_metadata_states_them(database: Database) -> None:
    kept = fill(database, laboratory())
    _, table = _cross(database, "task", "object")
    expected: Counter[tuple[str | None, str]] = Counter()
    for each in kept:
        things = each.row.metadata["variation"].get("things")
        if things and outcome(each) == "accepted":
            expected[each.row.task, f"{things[0]['colour']} {things[0]['shape']}"] += 1
    for r, row in enumerate(table.rows):
        for c, column in enumerate(table.columns):
            assert table.accepted[r][c] == expected[row.words, column.words]
    assert table.unplaced == sum("things" not in e.row.metadata["variation"] for e in kept)


def test_the_query_of_every_cell_finds_its_episodes(database: Database) -> None:
    fill(database, laboratory())
    for axes_chosen in (("task", "operator"), ("hand", "station"), ("task", "object")):
        scope, table = _cross(database, *axes_chosen)
        with database.read() as connection:
            for r, row in enumerate(table.rows):
                for c, column in enumerate(table.columns):
                    assert row.condition is not None
                    assert column.condition is not None
                    where = (row.condition, column.condition)
                    assert count_episodes(connection, scope.query(*where)) == table.counts[r][c]
                    good = scope.query(*where, CONDITIONS["accepted"])
                    assert count_episodes(connection, good) == table.accepted[r][c]


def test_an_object_named_outside_a_list_can_be_asked_for(database: Database) -> None:
    entries = [
        changed(each, metadata={"object": f"cup {place % 3}"})
        for place, each in enumerate(laboratory(60))
    ]
    kept = fill(database, entries)
    scope, table = _cross(database, "station", "object")
    objects = Counter(each.row.metadata["object"] for each in kept)
    with database.read() as connection:
        for column in table.columns:
            assert column.condition is not None
            assert (
                count_episodes(connection, scope.query(column.condition)) == objects[column.words]
            )


def test_positions_are_told_as_seen_by_the_robot(database: Database) -> None:
    fill(database, laboratory())
    _, table = _cross(database, "operator", "pose")
    words = [each.words for each in table.columns]
    assert words[0] == "20-40 cm ahead, 20-40 cm right"
    assert "60-80 cm ahead, 0-20 cm left" in words


def test_levels_that_a_protocol_plans_are_there_before_anybody_records_them(
    database: Database,
) -> None:
    kept = fill(database, laboratory(60))
    protocol = open_protocol("pick_place")
    values = json.loads(protocol.canonical())
    values["factors"] = [
        {"name": "hand", "levels": ["left", "right", "both"], "shares": [0.25, 0.25, 0.5]}
    ]
    text = type(protocol).parse(json.dumps(values), suffix=".json").canonical()
    with database.write() as connection:
        connection.execute(insert(DOCUMENT).values(
            hash="sha256:p", kind="protocol", name="pick_place", version="1.0.0", text=text
        ))  # fmt: skip
        connection.execute(
            insert(GOVERNS).values(episode=kept[0].id, kind="protocol", document="sha256:p")
        )
    _, table = _cross(database, "hand", "station")
    assert [each.words for each in table.rows] == ["left", "right", "both"]
    assert table.accepted[2] == (0, 0, 0, 0)
    with database.read() as connection:
        scope = read_scope(connection)
        found = {
            each.name: each for each in measure_labels(connection, scope, axes(connection, scope))
        }
    assert found["hand"].is_planned
    hands = Counter(each.row.metadata["variation"]["hand"] for each in kept)
    farthest = max(0.5, *(abs(hands[each] / len(kept) - 0.25) for each in ("left", "right")))
    assert abs(found["hand"].error - farthest) < 1e-12


def test_notes_of_new_episodes_are_read_when_they_come(database: Database) -> None:
    entries = laboratory(80)
    fill(database, entries[:50])
    notes, hand = MetadataCache(), MetadataField("variation.hand")
    with database.read() as connection:
        notes.of(connection, [each.id for each in entries[:50]], [hand])
    fill(database, entries[50:])
    with database.read() as connection:
        found = notes.of(
            connection, [each.id for each in entries], [hand, MetadataField("lighting")]
        )
    assert found[0] == [each.row.metadata["variation"]["hand"] for each in entries]
    assert found[1] == [None] * len(entries)


def test_nothing_recorded_gives_no_axes(database: Database) -> None:
    with database.read() as connection:
        assert axes(connection, read_scope(connection)) == {}
