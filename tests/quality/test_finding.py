"""Findings: spans, verdicts, JSON."""

from __future__ import annotations

import math

from corporeal.quality.finding import Finding, spans, verdict


def test_spans_are_half_open_and_reach_both_ends() -> None:
    assert spans([1, 1, 0, 0, 1]) == ((0, 2), (4, 5))
    assert spans([0, 0, 0]) == ()
    assert spans([]) == ()


def test_spans_closer_than_join_become_one() -> None:
    assert spans([1, 0, 1, 0, 0, 1], join=2) == ((0, 3), (5, 6))


def test_the_worst_finding_decides() -> None:
    note, look, bad = (Finding("x", severity=each) for each in ("note", "quarantine", "fail"))
    assert verdict(()) == verdict((note,)) == "accepted"
    assert verdict((note, look)) == "quarantined"
    assert verdict((look, bad)) == "failed"


def test_json_has_the_fields_of_the_contract_and_no_nan() -> None:
    finding = Finding(
        "late", "camera", ((3, 5),), math.inf, 0.05, severity="fail", check="gap_in_stream"
    )
    assert finding.to_json() == {
        "check": "gap_in_stream",
        "severity": "fail",
        "stream": "camera",
        "frames": [[3, 5]],
        "value": None,
        "limit": 0.05,
        "message": "late",
    }


def test_a_finding_of_a_batch_names_its_episodes() -> None:
    assert Finding("same", episodes=(1, 4)).to_json()["episodes"] == [1, 4]
