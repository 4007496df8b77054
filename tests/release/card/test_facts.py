"""The facts of a release are counted in the catalogue, and name nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import insert, update
from tests.catalog.entries import changed, made_entry
from tests.release.card.small_release import (
    MANIFEST,
    NAME,
    PEOPLE,
    SCHEMA,
    VERSION,
    entries,
    facts_of,
    release,
)

from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.tables import DOCUMENT, EPISODE, MEMBER, RELEASE
from corporeal.release.card import card_facts, render_card


def test_counts_are_those_of_the_members(database: Database) -> None:
    made = entries(60)
    with database.write() as connection:
        add_episodes(connection, made, who="tests")
        # The last ten are in the catalogue and not in the release.
        release(connection, made[:50])
    with database.read() as connection:
        facts = card_facts(connection, NAME, VERSION)
    rows = [vars(entry.row) for entry in made[:50]]
    assert facts.reference == "kitchen@1.2.0"
    assert facts.manifest == MANIFEST
    assert facts.episodes == 50
    assert facts.hours == pytest.approx(sum(row["duration_s"] for row in rows) / 3600)
    assert facts.bytes == sum(row["bytes"] for row in rows)
    assert {task.name: task.episodes for task in facts.tasks} == {
        name: sum(row["task"] == name for row in rows) for name in {row["task"] for row in rows}
    }
    best = facts.tasks[0]
    mine = [row for row in rows if row["task"] == best.name]
    assert best.successes == sum(row["success"] is True for row in mine)
    assert best.failures == sum(row["success"] is False for row in mine)
    assert {share.name: share.episodes for share in facts.splits} == {"train": 45, "test": 5}
    found = sum(len(entry.findings) for entry in made[:50])
    assert sum(finding.findings for finding in facts.findings) == found
    assert facts.licence == "CC-BY-4.0"
    assert len(facts.columns.task) == 50


def test_what_is_not_stated_is_a_hole_and_a_share_of_its_own(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, entries(40))
    holes = {hole.field: hole.episodes for hole in facts.holes}
    assert holes == {"calibration": 40, "environment": 10, "success": 2}
    assert {share.name: share.episodes for share in facts.environments} == {
        "kitchen": 30, "not stated": 10
    }  # fmt: skip


def test_streams_have_the_units_of_the_schema_behind_them(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, entries(5))
    found = {stream.path: stream for stream in facts.streams}
    assert len(found) == len(SCHEMA.streams)
    joints = found["observations/joint_position"]
    assert (joints.unit, joints.lowest_hz, joints.episodes, joints.samples) == ("rad", 100, 5, 500)
    assert found["observations/left_wrist_wrench"].unit == "N, N m"
    (document,) = facts.documents
    assert (document.kind, document.name, document.hash) == ("schema", SCHEMA.name, SCHEMA.hash)


def test_a_schema_that_cannot_be_read_leaves_streams_without_a_unit(tmp_path: Path) -> None:
    with Database("sqlite:///catalog.db", root=tmp_path) as database:
        facts_of(tmp_path, entries(2))
        with database.write() as connection:
            connection.execute(update(DOCUMENT).values(text="{"))
        with database.read() as connection:
            facts = card_facts(connection, NAME, VERSION)
    assert facts.streams
    assert all(stream.unit is None for stream in facts.streams)


def test_people_are_numbers(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, entries(200))
    assert [share.name for share in facts.operators] == [f"operator {n}" for n in range(1, 6)]
    counts = [share.episodes for share in facts.operators]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 200
    told = {name: value for name, value in facts.to_json().items() if name != "stated"}
    text = json.dumps(told)
    assert not [name for name in PEOPLE if f'"{name}' in text or f" {name}" in text]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("operator = jane.doe", "operator = ..."),
        ("operator != 'A Person' and score > 0.5", "operator != ... and score > 0.5"),
        ('task = x and operator in ("a b", op07)', "task = x and operator in ..."),
        ("operator not in (li_wei)", "operator not in ..."),
        ("session = m.okafor", "session = ..."),
        ("task = banana and station = s1", "task = banana and station = s1"),
    ],
)
def test_a_condition_names_nobody(tmp_path: Path, condition: str, told: str) -> None:
    assert facts_of(tmp_path, entries(30), condition=condition).condition == told


def test_erased_episodes_are_counted_as_such(tmp_path: Path) -> None:
    made = [changed(entry, state="released") for entry in entries(4)]
    with Database("sqlite:///catalog.db", root=tmp_path) as database:
        facts_of(tmp_path, made)
        with database.write() as connection:
            erased = update(EPISODE).where(EPISODE.c.id == made[1].id).values(state="erased")
            connection.execute(erased)
        with database.read() as connection:
            assert card_facts(connection, NAME, VERSION).erased == 1


def test_a_release_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Database("sqlite:///catalog.db", root=tmp_path) as database:
        facts_of(tmp_path, entries(1))
        with database.read() as connection, pytest.raises(CatalogError, match=r"kitchen@9\.0\.0"):
            card_facts(connection, NAME, "9.0.0")


def test_a_release_of_episodes_that_say_nothing_has_facts_all_the_same(tmp_path: Path) -> None:
    bare = made_entry(name="e1", facts={"hash": "sha256:1", "bytes": 1, "file": "a.h5"})
    facts = facts_of(tmp_path, [bare], facts={})
    assert facts.episodes == 1
    assert facts.hours == 0
    assert facts.first_ns is None
    assert facts.licence is None
    assert [task.name for task in facts.tasks] == ["not stated"]
    assert "No check has looked at 1 of the 1 episode" in render_card(facts)


def test_a_release_without_an_episode_has_facts_all_the_same(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(RELEASE).values(
            name="none", version="1.0.0", manifest=MANIFEST, condition="", episodes=0,
            created_at="2026-01-01T00:00:00Z", created_by="me", facts={},
        ))  # fmt: skip
        assert MEMBER.c.split.nullable is False
    with database.read() as connection:
        assert card_facts(connection, "none", "1.0.0").episodes == 0
