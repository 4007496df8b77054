"""The charts of agreement show what can be counted by hand, and name what is to be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, pstdev

import numpy as np
import pytest
from scipy.stats import beta
from sqlalchemy import Connection, update
from tests.catalog.entries import entry
from tests.studio.label_work import label_all, phases

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.permission import Actor
from corporeal.catalog.tables import LABEL_TASK
from corporeal.catalog.workspace import upgrade
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import Frames
from corporeal.labelling.queues import add_seconds, take_next
from corporeal.labelling.tasks import TaskOptions, create_tasks
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.operations.question import (
    BarMarks,
    Drawing,
    HeatMarks,
    LineMarks,
    StackMarks,
    TableMarks,
    charts,
)
from corporeal.operations.scope import read_scope

FRAMES = Frames("observations/head_left", np.arange(121, dtype=np.int64) * 33_333_333)
LEAD, ANN, BEN = Actor("lee", "lead"), Actor("ann", "annotator"), Actor("ben", "annotator")
# Where reach begins and ends: as ann sees it, and as ben does. He is late where it begins.
SAID = (((30, 60), (36, 60)), ((31, 62), (38, 61)), ((29, 70), (33, 70)), ((40, 80), (48, 82)),
        ((22, 50), (24, 50)))  # fmt: skip
BEGIN = [two[0] - one[0] for one, two in SAID]
END = [two[1] - one[1] for one, two in SAID]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Database]:
    with Database(f"sqlite:///{tmp_path / 'catalog.db'}") as made:
        upgrade(made)
        yield made


@pytest.fixture
def labelled(small: Database) -> Database:
    """Five episodes that ann and ben have both labelled."""
    entries = [entry(number) for number in range(1, len(SAID) + 1)]
    names = [each.id for each in entries]
    with small.write() as connection:
        add_episodes(connection, entries, who="tester")
        create_tasks(
            connection, names, open_taxonomy("manipulation"),
            TaskOptions("monday", double_share=1.0, blind_share=0.0), by=LEAD,
            frames=dict.fromkeys(names, FRAMES),
        )  # fmt: skip
        for who, side in ((ANN, 0), (BEN, 1)):
            _work(
                connection, who, {name: said[side] for name, said in zip(names, SAID, strict=True)}
            )
    return small


def _work(connection: Connection, who: Actor, said: dict[str, tuple[int, int]]) -> None:
    while (held := take_next(connection, "monday", by=who)) is not None:
        add_seconds(connection, held.id, 90.0, by=who)
        label_all(connection, held, who, at=said[held.episode])


def _draw(database: Database, name: str, query: str = "", **settings: str) -> Drawing:
    with database.read() as connection:
        return charts()[name].answer(connection, read_scope(connection, query), settings)


def _apart(steps: Sequence[int]) -> float:
    return mean(abs(each) for each in steps)


def test_the_gates_are_those_of_the_boundaries_themselves(labelled: Database) -> None:
    # The last boundary of a lane that tiles is where the recording ends, for both the same.
    steps = [*BEGIN, *END, *[0] * (2 * len(SAID))]
    drawn = _draw(labelled, "agreement_over_time")
    assert isinstance(drawn.payload, LineMarks)
    point = drawn.payload.points[0]
    assert point.value == pytest.approx(_apart(steps))
    assert point.state == "within"
    assert point.size == len(SAID)
    near = sum(abs(each) <= 2 for each in steps)
    hits = _draw(labelled, "agreement_over_time", figure="hit rate").payload
    assert isinstance(hits, LineMarks)
    assert hits.points[0].value == pytest.approx(near / len(steps))
    exact = beta.ppf(0.025, near, len(steps) - near + 1)
    assert hits.points[0].lower == pytest.approx(exact, abs=1e-6)
    for figure in ("kappa", "edit score"):
        line = _draw(labelled, "agreement_over_time", figure=figure).payload
        assert isinstance(line, LineMarks)
        assert line.points[0].value == 1.0
    assert drawn.answer.startswith("Yes, all three gates are passed")


def test_weeks_are_told_apart_and_a_query_narrows_them(labelled: Database) -> None:
    with labelled.write() as connection:
        chosen = update(LABEL_TASK).where(LABEL_TASK.c.episode == entry(1).id)
        connection.execute(chosen.values(changed_at="2026-01-07T10:00:00.000000Z"))
    line = _draw(labelled, "agreement_over_time").payload
    assert isinstance(line, LineMarks)
    assert line.points[0].label == "2026-01-05"
    assert [each.size for each in line.points] == [1, len(SAID) - 1]
    one = _draw(labelled, "agreement_over_time", query=line.points[0].query).payload
    assert isinstance(one, LineMarks)
    assert [each.size for each in one.points] == [1]


def test_the_rule_over_which_people_differ_is_named(labelled: Database) -> None:
    drawn = _draw(labelled, "agreement_by_rule")
    assert drawn.answer.startswith("“Approach begins” is: people differ by 5.4 frames")
    assert isinstance(drawn.payload, TableMarks)
    rows = {row.cells[0]: row for row in drawn.payload.rows}
    begins = rows["approach begins"]
    assert begins.cells[1:4] == ["5", f"{_apart(BEGIN):.1f}", f"{pstdev(BEGIN):.1f}"]
    assert begins.tone == "bad"
    assert begins.address is not None
    assert begins.address.startswith("/episodes/")
    assert "?t=" in begins.address
    assert rows["rest begins"].tone == "plain"


def test_who_is_late_is_named_with_how_far(labelled: Database) -> None:
    drawn = _draw(labelled, "annotator_bias")
    assert isinstance(drawn.payload, HeatMarks)
    column = drawn.payload.columns.index("approach begins")
    cells = dict(zip(drawn.payload.rows, drawn.payload.cells, strict=True))
    assert cells["ben"][column].text == f"{mean(BEGIN):.1f} late"
    assert cells["ann"][column].text == f"{mean(BEGIN):.1f} early"
    overall = mean([*BEGIN, *END, *[0] * (2 * len(SAID))])
    assert cells["ben"][0].value == pytest.approx(overall)
    assert f"{overall:.1f} frames" in drawn.answer


def test_progress_counts_tasks_and_prices_them(labelled: Database) -> None:
    drawn = _draw(labelled, "annotation_progress", annotator_per_hour="40")
    assert isinstance(drawn.payload, StackMarks)
    assert sum(each.value for each in drawn.payload.stacks[0].segments) == 2 * len(SAID)
    assert drawn.answer == "10 of 10 tasks are labelled (100 %); one takes 2 min, or 1.00 EUR."


def test_anchoring_compares_with_the_proposal_whether_seen_or_not(small: Database) -> None:
    entries = [entry(number) for number in range(1, 9)]
    names = [each.id for each in entries]
    stamps = FRAMES.stamps.tolist()
    proposed = Annotation(
        reference=FRAMES.stream,
        segments=tuple(phases([stamps[0], stamps[30], stamps[60], stamps[-1] + 33_333_333])),
    )
    with small.write() as connection:
        add_episodes(connection, entries, who="tester")
        create_tasks(
            connection, names, open_taxonomy("manipulation"),
            TaskOptions("monday", double_share=0.0, blind_share=0.5), by=LEAD,
            starts=dict.fromkeys(names, proposed), frames=dict.fromkeys(names, FRAMES),
        )  # fmt: skip
        while (held := take_next(connection, "monday", by=ANN)) is not None:
            label_all(connection, held, ANN, at=(38, 68) if held.is_blind else (31, 61))
    drawn = _draw(small, "proposal_influence")
    assert isinstance(drawn.payload, BarMarks)
    # Two of four boundaries are moved; the others are the ends of the recording.
    assert [each.value for each in drawn.payload.bars] == [0.5, 4.0]
    assert drawn.answer.startswith("Yes, it seems")


@pytest.mark.parametrize("name", ["agreement_over_time", "agreement_by_rule", "annotator_bias",
                                  "proposal_influence", "annotation_progress"])  # fmt: skip
def test_without_labels_a_chart_says_what_to_do(small: Database, name: str) -> None:
    drawn = _draw(small, name)
    assert drawn.payload is None
    assert drawn.advice
