"""The fault campaign: a random fault, a recovery, and nothing that was synced is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.faults.__main__ import read_outcomes, run_subject, tally
from bench.faults.recorder import PROMISE_MS, SUBJECT, campaign


def test_a_few_of_every_fault_lose_nothing_that_was_synced(tmp_path: Path) -> None:
    results = campaign(tmp_path / "faults", share=0.04, first_seed=10_000)
    assert [problem for result in results for problem in result.broken] == []
    assert all(result.tried for result in results)
    assert sum(result.episodes for result in results) >= 20


def test_an_interrupted_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "outcomes.jsonl"
    first = run_subject(SUBJECT, 5, 10_000, out)
    with out.open("a") as file:
        file.write('{"subject": "recorder", "ki')
    assert read_outcomes(out) == {"recorder": first}
    assert run_subject(SUBJECT, 5, 10_000, out) == first
    (line,) = tally(read_outcomes(out))
    assert (line.tried, line.broken) == (5, 0)


@pytest.mark.slow
@pytest.mark.alone
def test_five_hundred_faults_lose_nothing_that_was_synced(tmp_path: Path) -> None:
    results = campaign(tmp_path / "faults")
    assert [problem for result in results for problem in result.broken] == []
    assert sum(result.tried for result in results) >= 500
    worst_ms = max(result.worst_ms or 0.0 for result in results)
    assert 0 < worst_ms <= PROMISE_MS
