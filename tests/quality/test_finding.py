"""Findings: verdicts, JSON."""

from __future__ import annotations

import math

from corporeal.quality.finding import Finding, verdict


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
