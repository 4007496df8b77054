"""Figures: counts, sums and single fields of what a condition finds, alike in both databases."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import select
from tests.catalog.entries import entry

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import EpisodeEntry, add_episodes, move_episodes
from corporeal.catalog.query import (
    PRESENT,
    And,
    FieldStep,
    MetadataField,
    count_findings,
    count_of,
    episode_meets,
    least_of,
    mean_score_parts,
    most_of,
    parse,
    read_fields,
    sample_scores,
    sum_episodes,
    sum_of,
)
from corporeal.catalog.tables import STREAM
from corporeal.errors import UnknownNameError

DAY_NS = 86_400 * 10**9
ENTRIES = [
    entry(number, verdict=("accepted", "failed")[number % 2], recorded_ns=(number // 10) * DAY_NS,
          score=None if number == 7 else (number % 20) / 20)
    for number in range(40)
]  # fmt: skip
GONE = ENTRIES[0]
GOOD = parse("verdict = accepted")


@pytest.fixture
def filled(database: Database) -> Database:
    """40 episodes, of which one is erased."""
    with database.write() as connection:
        add_episodes(connection, ENTRIES, who="tester")
        move_episodes(connection, [GONE.id], "erased", who="tester", why="asked for")
    return database


def _rows() -> list[EpisodeEntry]:
    return [each for each in ENTRIES if each is not GONE]


def test_episodes_are_counted_and_summed_in_groups(filled: Database) -> None:
    with filled.read() as connection:
        rows = sum_episodes(
            connection, PRESENT, count_of(), count_of(GOOD), sum_of("duration_s", GOOD),
            count_of(known="score"), by=("operator", "day"),
        )  # fmt: skip
    own = Counter((each.row.operator, (each.row.recorded_ns or 0) // DAY_NS) for each in _rows())
    assert {(name, day): count for name, day, count, *_ in rows} == own
    assert sum(row[3] for row in rows) == 19
    assert sum(row[4] for row in rows) == 19 * 20.0
    assert sum(row[5] for row in rows) == 38


def test_without_groups_there_is_one_row_even_of_nothing(filled: Database) -> None:
    wanted = (count_of(), sum_of("score"), least_of("recorded"), most_of("recorded"))
    with filled.read() as connection:
        nothing = sum_episodes(connection, parse("task = none_such"), *wanted)
        (row,) = sum_episodes(connection, None, *wanted)
    assert nothing == [(0, 0.0, None, None)]
    assert row[0] == 40
    assert row[2:] == (0, 3 * DAY_NS)


def test_a_number_is_grouped_by_its_steps(filled: Database) -> None:
    with filled.read() as connection:
        rows = sum_episodes(connection, None, count_of(), by=(FieldStep("score", 0.2),))
    assert dict(rows) == {None: 1, 0: 8, 1: 7, 2: 8, 3: 8, 4: 8}


def test_single_fields_are_read_in_order_and_by_id(filled: Database) -> None:
    ids = [each.id for each in ENTRIES[:5]]
    light = MetadataField("light")
    with filled.read() as connection:
        rows = [tuple(row) for row in read_fields(
            connection, "id", light, GOOD, where=PRESENT, ids=ids, order="id")]  # fmt: skip
        assert [row[0] for row in rows] == sorted(ids[1:])
        assert {row[1] for row in rows} == {"Größe 3"}
        assert sum(bool(row[2]) for row in rows) == 2
        with pytest.raises(UnknownNameError, match="colour"):
            list(read_fields(connection, "colour"))


def test_another_rooms_rows_are_those_of_episodes_that_meet_a_condition(filled: Database) -> None:
    where = episode_meets(STREAM.c.episode, And((PRESENT, GOOD)))
    with filled.read() as connection:
        assert len(connection.execute(select(STREAM.c.path).where(where)).all()) == 19


def test_findings_are_counted_by_their_own_fields_and_the_episodes(filled: Database) -> None:
    with filled.read() as connection:
        assert count_findings(connection, PRESENT) == [("joints_within_limits", 9)]
        assert count_findings(connection, None, episodes=True) == [("joints_within_limits", 10)]
        assert count_findings(connection, PRESENT, severities=("fail",)) == []
        by_task = count_findings(connection, PRESENT, by=("task", "check"))
    assert sum(row[2] for row in by_task) == 9


def test_scores_are_sampled_and_averaged(filled: Database) -> None:
    with filled.read() as connection:
        whole = sample_scores(connection, None, most=100)
        some = sample_scores(connection, None, most=10)
        assert mean_score_parts(connection, PRESENT) == {"smoothness": 0.5}
    assert len(whole.totals) == len(whole.parts["smoothness"]) == 39
    assert len(some.totals) == len(some.parts["smoothness"]) == 10
