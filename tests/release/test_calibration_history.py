"""The lineage of an episode shows its calibration, how it was verified and what held it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.catalog.entries import changed
from tests.operations.checked_station import CELL, WHY, at, fill_station, station_episode

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import add_episodes, lift_halt, list_halts
from corporeal.catalog.permission import Actor
from corporeal.release.lineage import as_text, lineage_of

SERIALS = CELL.model_copy(update={
    "sensor_serials": {"head_left": "C-104"}, "version": "1.0.1",
})  # fmt: skip


def _episode(number: int, said: object) -> Any:
    """An episode of that station which says something of its calibration."""
    made = station_episode(number)
    document = {**made.documents["calibration"], "text": SERIALS.canonical(),
                "hash": SERIALS.hash, "version": SERIALS.version}  # fmt: skip
    made = changed(made, id=f"told-{number}", hash=f"sha256:{number:064d}",
                   calibration=SERIALS.reference, metadata={"calibration": said})  # fmt: skip
    return replace(made, documents={**made.documents, "calibration": document})


def test_an_episode_shows_the_station_s_checks_around_it_and_the_halt(database: Database) -> None:
    halt = fill_station(database, checks=4)
    assert halt is not None
    name = station_episode(2).id
    with database.read() as connection:
        graph = lineage_of(connection, f"episode:{name}")
    told = as_text(graph)
    assert f"calibration {CELL.reference}, {CELL.hash[:19]}, measured" in told
    assert "head_left (no serial)" in told
    assert f"passed at {at(2):%Y-%m-%dT%H:%M}" in told
    assert f"failed at {at(3):%Y-%m-%dT%H:%M}, off by 4.10 mm" in told
    assert f"held by: halt of {CELL.reference}" in told
    assert "still open" in told
    (held,) = (edge.parent for edge in graph.edges if edge.relation == "held_by")
    assert graph.node(held).facts["why"] == WHY
    assert json.loads(json.dumps(graph.to_json()))["subject"] == f"episode:{name}"
    with database.write() as connection:
        lift_halt(connection, halt.key, why="fastened", by=Actor("lena", "lead"))
    with database.read() as connection:
        assert list_halts(connection, lifted=False) == []
        assert "by lena: fastened" in as_text(lineage_of(connection, f"episode:{name}"))


@pytest.mark.parametrize("as_text_in_json", [False, True])
def test_what_the_episode_says_comes_before_the_station(
    database: Database, as_text_in_json: bool
) -> None:
    said: Any = {
        "start": {"at": "2026-03-02T08:41:00+00:00", "passed": True, "id": CELL.reference,
                  "position_error_m": 0.0004, "rotation_error_rad": 0.001},
        "halt": {"override": "a demonstration for guests"},
    }  # fmt: skip
    fill_station(database, checks=4, bumped=False)
    episode = _episode(1, json.dumps(said) if as_text_in_json else said)
    with database.write() as connection:
        add_episodes(connection, [episode], who="ingest")
    with database.read() as connection:
        told = as_text(lineage_of(connection, "episode:told-1"))
    assert "head_left (serial C-104)" in told
    assert "verified at start" in told
    assert "passed at 2026-03-02T08:41, off by 0.40 mm and 0.06 degrees" in told
    assert f"passed at {at(2):%Y-%m-%dT%H:%M}" in told
    assert "recorded despite halt: override of a halt: a demonstration for guests" in told


@pytest.mark.parametrize("said", [7, [], {"start": 3, "end": {"at": 5, "passed": "no"}}, "{["])
def test_nonsense_about_a_calibration_breaks_no_lineage(database: Database, said: object) -> None:
    episode = _episode(1, said)
    text = {**episode.documents["calibration"], "text": "[1, 2"}
    with database.write() as connection:
        add_episodes(connection, [replace(episode, documents={"calibration": text})], who="ingest")
    with database.read() as connection:
        assert f"calibration {SERIALS.reference}" in as_text(
            lineage_of(connection, "episode:told-1")
        )
