"""A simulated floor works by the platform's own rules, and is heard as recorders are."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from corporeal.catalog.people import practice_of
from corporeal.catalog.query import PRESENT, count_of, sum_episodes
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.floor import (
    FloorRun,
    coverage_reached,
    make_roster,
    make_truth,
    open_floor,
    replaying,
    unplanned_rows,
)
from corporeal.operations.campaign import find_campaign, read_progress
from corporeal.operations.shifts import find_breaches
from corporeal.protocol.design import design_space

MONDAY = date(2026, 11, 23)


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> FloorRun:
    """A small floor, planned and with its campaigns."""
    pytest.importorskip("ortools")
    truth = make_truth(3, stations=4, operators=10)
    # Everybody would work on in a break, and shows what the card asks for.
    people = tuple(replace(person, eager=True, favourite=None) for person in truth.operators)
    truth = replace(truth, operators=people)
    roster = make_roster(truth, MONDAY, 1, hours=8)
    workspace: Workspace = make_workspace(tmp_path_factory.mktemp("floor") / "lab")
    return open_floor(workspace.database, truth, roster, episodes=200, seconds=2)


@pytest.mark.slow
def test_a_day_is_worked_by_plan_cards_and_breaks(floor: FloorRun, tmp_path: Path) -> None:
    with replaying(floor, 0, speed=1e6, folder=tmp_path) as replay:
        assert len(set(replay.addresses)) == 4
        kinds = Counter(event.kind for event in replay.play(threading.Event(), hours=2.2))
        assert replay.clock.now() > replay.clock.start
    assert not list(find_breaches(floor.roster, floor.plan))
    assert len(floor.takes) >= kinds["ends"] > 20
    with floor.database.read() as connection:
        ((rows,),) = sum_episodes(connection, PRESENT, count_of())
        assert rows == len(floor.takes)
        assert not practice_of(connection, [take.id for take in floor.takes])
        told = [read_progress(connection, find_campaign(connection, protocol.task.name))
                for protocol in floor.truth.protocols]  # fmt: skip
    good = sum(take.verdict == "accepted" for take in floor.takes)
    assert sum(progress.accepted for progress in told) == good
    # Those who would work on in their break were kept from it, and no break is missing.
    assert floor.halted.total() > 0
    for spans in floor.spans.values():
        begun, _ = spans[0]
        for (_, end), (first, _) in pairwise(sorted(spans)):
            if first - end >= 15 * 60:
                begun = first
            assert first - begun < 45 * 60


def test_the_same_seed_is_the_same_floor() -> None:
    assert make_truth(5) == make_truth(5)
    assert make_truth(5) != make_truth(6)
    truth = make_truth(5)
    assert (len(truth.tired), len(truth.biased), len(truth.adrift)) == (3, 2, 1)
    tired = next(person for person in truth.operators if person.tiring)
    assert tired.slowness(10, 0.75) > tired.slowness(10, 0.0) > tired.slowness(1000, 0.0)


def test_coverage_is_reached_when_the_last_pair_is_there_often_enough() -> None:
    space = design_space(make_truth(0).protocols[0])
    rows = unplanned_rows(space, 10, 4000, seed=1)
    once, often = (coverage_reached(space, rows, least) for least in (1, 4))
    assert once is not None
    assert often is not None
    assert 30 <= once < often < 4000
    assert coverage_reached(space, rows[: once - 1], 1) is None
    # Habits leave pairs out for longer.
    habits = [coverage_reached(space, unplanned_rows(space, 10, 4000, seed=seed, habit=1.0), 1)
              for seed in range(5)]  # fmt: skip
    assert np.median([after or 4000 for after in habits]) > once
