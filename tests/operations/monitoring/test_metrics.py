"""The figures of a batch are those that can be counted by hand, and are kept once."""

from __future__ import annotations

import pytest
from sqlalchemy import func, insert, select
from tests.operations.monitoring.figures import DAY_NS, FIRST_NS, entry, put

from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import move_episodes
from corporeal.catalog.tables import EVENT, MEMBER, METRIC, RELEASE
from corporeal.operations.monitoring import (
    measure_batch,
    measure_release,
    metric_names,
    read_series,
    record_metrics,
)
from corporeal.operations.monitoring.metrics import subject_metrics
from corporeal.protocol.coverage import Factor

HAND = Factor(name="hand", levels=("left", "right"))


def _calibration(start: float, end: float, *, changed: bool = False) -> dict[str, object]:
    return {"calibration": {
        "start": {"position_error_m": start, "id": "c1"},
        "end": {"position_error_m": end, "id": "c2" if changed else "c1"},
    }}  # fmt: skip


def _batch() -> list[object]:
    return [
        entry("e1", batch="b1", session="s1", operator="ann", environment="lab", verdict="accepted",
              success=True, score=0.9, duration_s=10.0, scores=[("balance", 0.8)],
              metadata={"variation": {"hand": "left"}} | _calibration(0.001, 0.002)),
        entry("e2", batch="b1", session="s1", operator="ann", environment="lab", verdict="accepted",
              success=False, score=0.7, duration_s=20.0, scores=[("balance", 0.6)],
              metadata={"variation": {"hand": "left"}} | _calibration(0.001, 0.004, changed=True)),
        entry("e3", batch="b1", session="s2", operator="bob", environment="shop",
              verdict="quarantined", success=True, score=0.5, duration_s=36.0,
              findings=[("gap_in_stream", "quarantine"), ("gap_in_stream", "quarantine"),
                        ("picture_blurred", "note")],
              metadata={"variation": {"hand": "right"}}),
        entry("e4", batch="b1", session="s2", recorded_ns=FIRST_NS + DAY_NS),
        entry("e5", batch="b2", session="s2", operator="cid", verdict="failed", score=0.1,
              findings=[("picture_blurred", "fail")]),
    ]  # fmt: skip


def _filled(database: Database) -> None:
    with database.write() as connection:
        put(connection, _batch())  # type: ignore[arg-type]


def test_the_figures_of_a_batch_can_be_counted_by_hand(database: Database) -> None:
    _filled(database)
    with database.read() as connection:
        found = measure_batch(connection, "b1", factors=[HAND])
    assert found == pytest.approx({
        "episodes": 4, "judged": 3, "outcomes": 3,
        "acceptance_rate": 2 / 3, "quarantine_rate": 1 / 3, "failure_rate": 1 / 3,
        "score_mean": 0.7, "score_median": 0.7, "score.balance": 0.7,
        "duration_mean_s": 22.0, "duration_median_s": 20.0, "hours": 66 / 3600,
        "findings_per_episode": 2 / 3, "findings.gap_in_stream": 2 / 3,
        "operators": 2, "largest_operator_share": 2 / 3, "environments": 2,
        "label_balance_error": 2 / 3 - 0.5, "environment_coverage": 1.0,
        "calibration_position_growth_m": 0.002, "calibration_changed_share": 0.5,
    })  # fmt: skip


def test_what_is_not_known_of_a_batch_is_left_out(database: Database) -> None:
    with database.write() as connection:
        put(connection, [entry("e1", batch="b1")])
        found = measure_batch(connection, "b1", factors=[HAND])
    assert found == {"episodes": 1.0, "judged": 0.0, "outcomes": 0.0}


def test_a_session_is_measured_like_a_batch(database: Database) -> None:
    _filled(database)
    with database.read() as connection:
        assert measure_batch(connection, "s2", by="session")["episodes"] == 3


def test_erased_episodes_are_no_longer_counted(database: Database) -> None:
    _filled(database)
    with database.write() as connection:
        move_episodes(connection, ["e1"], "erased", who="lead", why="asked for")
        assert measure_batch(connection, "b1")["episodes"] == 3


def test_a_batch_without_episodes_is_an_error(database: Database) -> None:
    with database.read() as connection, pytest.raises(CatalogError, match="no episodes"):
        measure_batch(connection, "'; DROP TABLE episode; --")


def test_a_release_is_measured_by_its_members(database: Database) -> None:
    _filled(database)
    with database.write() as connection:
        connection.execute(insert(RELEASE).values(
            name="walks", version="1.0.0", manifest="sha256:0", condition="", episodes=2,
            created_at="2026-02-01T00:00:00.000000Z", created_by="lead", facts={}))  # fmt: skip
        connection.execute(insert(MEMBER), [
            {"name": "walks", "version": "1.0.0", "episode": each, "split": "train"}
            for each in ("e1", "e3")
        ])  # fmt: skip
        found = measure_release(connection, "walks", "1.0.0")
        record_metrics(connection, "walks@1.0.0", found, who="lead", scope="release")
        kept = read_series(connection, "score_mean", "release")
    assert found["acceptance_rate"] == 0.5
    assert kept.times == ("2026-02-01T00:00:00.000000Z",)
    assert kept.values == pytest.approx([0.7])


def test_keeping_the_same_figures_again_changes_nothing(database: Database) -> None:
    _filled(database)
    with database.write() as connection:
        found = measure_batch(connection, "b1")
        assert record_metrics(connection, "b1", found, who="lead") == len(found)
    with database.write() as connection:
        before = connection.execute(select(func.count()).select_from(EVENT)).scalar()
        assert record_metrics(connection, "b1", found, who="lead") == 0
        assert connection.execute(select(func.count()).select_from(EVENT)).scalar() == before
        assert subject_metrics(connection, "b1") == found


def test_a_changed_figure_is_replaced_and_audited(database: Database) -> None:
    with database.write() as connection:
        record_metrics(connection, "b1", {"score_mean": 0.5, "hours": 1.0}, who="lead", at="2026")
        changed = record_metrics(connection, "b1", {"score_mean": 0.6}, who="lead", at="2026")
        rows = connection.execute(select(METRIC.c.name, METRIC.c.value)).all()
        last = list(events_of(connection, "batch:b1"))[-1]
        assert list(verify(connection)) == []
    assert changed == 2
    assert [tuple(row) for row in rows] == [("score_mean", 0.6)]
    assert last["what"] == "measure"
    assert last["details"] == {"values": {"score_mean": 0.6}, "gone": ["hours"]}


@pytest.mark.parametrize("figures", [{"score_mean": float("nan")}, {"x" * 65: 1.0}, {"": 1.0}])
def test_a_figure_that_cannot_be_kept_is_refused(
    database: Database, figures: dict[str, float]
) -> None:
    with database.write() as connection, pytest.raises(CatalogError, match="finite number"):
        record_metrics(connection, "b1", figures, who="lead", at="2026")


def test_a_series_runs_in_the_order_of_recording(database: Database) -> None:
    with database.write() as connection:
        for name, day in (("late", 3), ("early", 1), ("middle", 2)):
            put(connection, [entry(name, batch=name, score=day / 10,
                                   recorded_ns=FIRST_NS + day * DAY_NS)])  # fmt: skip
            record_metrics(connection, name, measure_batch(connection, name), who="lead")
        found = read_series(connection, "score_mean")
        assert "score_mean" in metric_names(connection)
    assert found.subjects == ("early", "middle", "late")
    assert found.values == pytest.approx([0.1, 0.2, 0.3])
    assert list(found.times) == sorted(found.times)


def test_a_check_that_found_nothing_counts_nought_where_it_was_run(database: Database) -> None:
    _filled(database)
    with database.write() as connection:
        put(connection, [entry("e9", batch="b9")])
        for batch in ("b1", "b2", "b9"):
            record_metrics(connection, batch, measure_batch(connection, batch), who="lead")
        found = read_series(connection, "findings.picture_blurred")
        former = read_series(connection, "findings.sharp")
    assert dict(zip(found.subjects, found.values, strict=True)) == {"b1": 0.0, "b2": 1.0}
    assert (former.name, former.subjects) == (found.name, found.subjects)
    assert dict(zip(found.subjects, found.sizes, strict=True)) == {"b1": 3.0, "b2": 1.0}
