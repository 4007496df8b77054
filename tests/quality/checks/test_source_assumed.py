"""What a source does not say is named."""

from __future__ import annotations

from tests.quality.demonstrations import demonstration, told

from corporeal.quality import Subject
from corporeal.quality.assessment import assess
from corporeal.quality.checks.source_assumed import CHECK, find
from corporeal.quality.policy import CheckRule

ASSUMED = {"rate_hz": "60 Hz: the file states none", "robot": "g1: it has 29 joints"}


def test_passes_when_the_source_says_all() -> None:
    assert not list(find(Subject(demonstration())))


def test_finds_each_assumption_with_its_reason() -> None:
    rate, robot = find(Subject(told(demonstration(), assumed=ASSUMED)))
    assert rate.message == "rate_hz is assumed: 60 Hz: the file states none"
    assert robot.message.startswith("robot is assumed: g1")
    assert CHECK.severity == "note"


def test_a_policy_may_refuse_guesses() -> None:
    guessed = Subject(told(demonstration(), assumed=ASSUMED))
    rules = {"source_assumed": CheckRule(severity="quarantine")}
    assert assess(guessed, only=("source_assumed",)).verdict == "accepted"
    assert assess(guessed, only=("source_assumed",), rules=rules).verdict == "quarantined"
