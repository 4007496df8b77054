"""Evidence of training is counted from real rows of the catalogue, and bounds are exact."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from tests.operations.trained import BEGIN, LEAD, SMALL, begun, put, refer_to

from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import decide_episodes
from corporeal.catalog.people import PHASES, add_operator, list_certificates
from corporeal.operations.operators import (
    begin,
    certify,
    needed_to_prove,
    read_training,
    share_bound,
)


@pytest.mark.parametrize(("good", "of", "proves"), [
    (20, 20, 0.861), (18, 20, 0.717), (19, 20, 0.784), (28, 30, 0.805), (46, 47, 0.903),
    (0, 20, 0.0),
])  # fmt: skip
def test_bounds_of_shares_are_those_of_tables(good: int, of: int, proves: float) -> None:
    assert share_bound(good, of) == pytest.approx(proves, abs=5e-4)


@given(st.integers(1, 200).flatmap(lambda of: st.tuples(st.integers(1, of), st.just(of))))
def test_at_the_bound_so_many_successes_come_in_one_case_of_twenty(pair: tuple[int, int]) -> None:
    good, of = pair
    bound = share_bound(good, of)
    assert float(binom.sf(good - 1, of, bound)) == pytest.approx(0.05, abs=1e-6)


def test_twenty_tries_cannot_prove_nine_in_ten_and_29_can() -> None:
    assert share_bound(20, 20) < 0.9
    assert needed_to_prove(0.9) == 29


def test_somebody_passes_three_phases_and_gets_a_certificate(database: Database) -> None:
    with database.write() as connection:
        add_operator(connection, "op01", by=LEAD)
        references = put(connection, 12, at=BEGIN, operator="op99")
        refer_to(connection, references)
        begin(connection, "op01", "reach", "practice", SMALL, by=LEAD)
        begun(connection, BEGIN + timedelta(days=1))
        put(connection, 12, at=BEGIN + timedelta(days=1))
        first = read_training(connection, "op01", "reach", SMALL)
        assert [each.state for each in first.phases] == ["passed", "not begun", "not begun"]
        begin(connection, "op01", "reach", "protocol", SMALL, by=LEAD)
        begun(connection, BEGIN + timedelta(days=2))
        seen = put(connection, 5, at=BEGIN + timedelta(days=2))
        waiting = read_training(connection, "op01", "reach", SMALL).phases[1]
        assert waiting.state == "under way"
        assert "0 of 5 looked at" in waiting.words
        decide_episodes(connection, seen, "accepted", who="ann", why=None)
        begin(connection, "op01", "reach", "calibration", SMALL, by=LEAD)
        begun(connection, BEGIN + timedelta(days=3))
        put(connection, 6, at=BEGIN + timedelta(days=3))
        training = read_training(connection, "op01", "reach", SMALL)
        assert training.is_ready, training.missing
        given = certify(connection, "op01", "reach", SMALL, by=LEAD)
        assert given.why is None
        grasps = next(each for each in given.evidence["phases"][2]["criteria"]
                      if each["name"] == "grasps")  # fmt: skip
        assert grasps["proves"] == pytest.approx(share_bound(6, 6))
    with database.read() as connection:
        assert list_certificates(connection, operator="op01") == [given]


def test_a_certificate_that_ends_is_renewed_by_its_phase_of_retraining_alone(
    database: Database,
) -> None:
    with database.write() as connection:
        add_operator(connection, "op01", by=LEAD)
        refer_to(connection, put(connection, 12, at=BEGIN, operator="op99"))
        for day, phase, count in zip((1, 2, 3), PHASES, (12, 5, 6), strict=True):
            begin(connection, "op01", "reach", phase, SMALL, by=LEAD)
            begun(connection, BEGIN + timedelta(days=day))
            ids = put(connection, count, at=BEGIN + timedelta(days=day))
            decide_episodes(connection, ids, "accepted", who="ann", why=None)
        first = certify(connection, "op01", "reach", SMALL, by=LEAD,
                        valid_from=BEGIN + timedelta(days=4))  # fmt: skip
        later = BEGIN + timedelta(days=4 + SMALL.valid_days)
        assert not first.holds(_text(later))
        # What the first was given for gives no second one.
        with pytest.raises(CatalogError, match="calibration was not begun again since"):
            certify(connection, "op01", "reach", SMALL, by=LEAD, valid_from=later)
        begin(connection, "op01", "reach", "calibration", SMALL, by=LEAD)
        begun(connection, later)
        put(connection, 6, at=later)
        second = certify(connection, "op01", "reach", SMALL, by=LEAD,
                         valid_from=later + timedelta(hours=1))  # fmt: skip
        assert second.why is None
        assert second.holds(_text(later + timedelta(days=30)))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


@pytest.mark.parametrize(("facts", "said"), [
    ({"seconds": 60.0}, "median"), ({"spread": 0.01}, "approaches differ"), ({"good": 4}, "grasp"),
])  # fmt: skip
def test_a_series_that_is_slow_uniform_or_drops_fails_and_says_so(
    database: Database, facts: dict[str, float], said: str
) -> None:
    with database.write() as connection:
        add_operator(connection, "op01", by=LEAD)
        refer_to(connection, put(connection, 12, at=BEGIN, operator="op99"))
        begin(connection, "op01", "reach", "calibration", SMALL, by=LEAD, why="known from before")
        begun(connection, BEGIN + timedelta(days=1))
        put(connection, 6, at=BEGIN + timedelta(days=1), **facts)  # type: ignore[arg-type]
        series = read_training(connection, "op01", "reach", SMALL).phases[2]
        assert series.state == "failed"
        assert said in series.words
        with pytest.raises(CatalogError, match=r"does not suffice.*--why"):
            certify(connection, "op01", "reach", SMALL, by=LEAD)
        forced = certify(connection, "op01", "reach", SMALL, by=LEAD, why="tested by hand")
        assert forced.why == "tested by hand"


def test_episodes_after_the_first_of_a_series_do_not_mend_it(database: Database) -> None:
    with database.write() as connection:
        add_operator(connection, "op01", by=LEAD)
        refer_to(connection, put(connection, 12, at=BEGIN, operator="op99"))
        begin(connection, "op01", "reach", "calibration", SMALL, by=LEAD, why="a try")
        begun(connection, BEGIN + timedelta(days=1))
        put(connection, 6, at=BEGIN + timedelta(days=1), good=3)
        put(connection, 20, at=BEGIN + timedelta(days=2))
        assert read_training(connection, "op01", "reach", SMALL).phases[2].state == "failed"


def test_takes_that_were_discarded_count_as_tries(database: Database) -> None:
    with database.write() as connection:
        add_operator(connection, "op01", by=LEAD)
        begin(connection, "op01", "reach", "practice", SMALL, by=LEAD)
        begun(connection, BEGIN)
        put(connection, 6, at=BEGIN)
        put(connection, 6, at=BEGIN + timedelta(hours=1), metadata={"discarded": True})
        practice = read_training(connection, "op01", "reach", SMALL).phases[0]
        assert practice.state == "under way"
        assert "4 of 10 of the latest succeeded" in practice.words


def test_nobody_reviews_their_own_episodes_into_a_certificate(database: Database) -> None:
    from corporeal.catalog.accounts import add_account
    from corporeal.catalog.permission import Actor

    with database.write() as connection:
        admin = Actor("root", "admin")
        add_account(connection, "root", "admin", by=admin)
        add_account(connection, "ann", "operator", by=admin)
        add_operator(connection, "op01", by=LEAD, account_name="ann")
        begin(connection, "op01", "reach", "protocol", SMALL, by=LEAD, why="experienced")
        begun(connection, BEGIN)
        seen = put(connection, 5, at=BEGIN)
        decide_episodes(connection, seen, "accepted", who="ann", why=None)
        assert read_training(connection, "op01", "reach", SMALL).phases[1].state == "under way"
        decide_episodes(connection, seen, "accepted", who="lea", why=None)
        assert read_training(connection, "op01", "reach", SMALL).phases[1].state == "passed"


def test_a_later_phase_needs_the_earlier_one_or_a_reason(database: Database) -> None:
    with database.write() as connection:
        add_operator(connection, "op01", by=LEAD)
        with pytest.raises(CatalogError, match=r"practice before it that is not begun.*--why"):
            begin(connection, "op01", "reach", "calibration", SMALL, by=LEAD)
