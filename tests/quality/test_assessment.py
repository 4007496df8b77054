"""Running checks: severities, what could not be assessed, damage that must not pass in silence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.quality.samples import joints

from corporeal.errors import EpisodeError, NotAssessed
from corporeal.quality import Subject, assessment
from corporeal.quality.assessment import assess
from corporeal.quality.check import Check, Finding
from corporeal.quality.policy import CheckRule


def _loud(_: Subject, *, loudness: float = 1.0) -> Iterator[Finding]:
    yield Finding("too loud", value=loudness)


def _blind(subject: Subject) -> Iterator[Finding]:
    if not subject.footage:
        raise NotAssessed("no camera")
    yield Finding("dark")


def _mild(_: Subject) -> Iterator[Finding]:
    yield Finding("not so bad", severity="note")


def _quiet(_: Subject) -> Iterator[Finding]:
    return iter(())


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        "loud": Check(_loud, topic="time", severity="quarantine"),
        "blind": Check(_blind, topic="time", severity="fail"),
        "mild": Check(_mild, topic="time", severity="fail"),
        "quiet": Check(_quiet, topic="time", severity="fail"),
        "seeing": Check(_loud, topic="pictures", severity="fail", pictures=True),
    }
    monkeypatch.setattr(assessment, "checks", lambda: made)


def _assess(**settings: Any) -> assessment.Assessment:
    return assess(Subject(joints()), pictures=False, **settings)


def test_a_finding_gets_the_name_and_severity_of_its_check() -> None:
    found = _assess()
    named = {each.check: each.severity for each in found.findings}
    assert named == {"loud": "quarantine", "mild": "note"}
    assert found.verdict == "quarantined"


def test_what_could_not_be_assessed_is_said_and_not_passed() -> None:
    assert _assess().not_assessed == {
        "blind": "no camera",
        "seeing": "pictures were not looked at",
    }


def test_a_policy_sets_severity_and_limits() -> None:
    found = _assess(rules={"loud": CheckRule(severity="fail", limits={"loudness": 3.0})})
    assert (found.verdict, found.findings[0].value) == ("failed", 3.0)


def test_a_policy_that_says_what_the_check_says_leaves_the_finding_its_own() -> None:
    found = _assess(rules={"mild": CheckRule(severity="fail")})
    assert [each.severity for each in found.findings if each.check == "mild"] == ["note"]
    found = _assess(rules={"mild": CheckRule(severity="quarantine")})
    assert [each.severity for each in found.findings if each.check == "mild"] == ["quarantine"]


def test_a_disabled_check_does_not_run() -> None:
    found = _assess(rules={"loud": CheckRule(enabled=False), "blind": CheckRule(enabled=False)})
    assert "loud" not in {each.check for each in found.findings}
    assert "blind" not in found.not_assessed


def test_only_the_named_checks_run() -> None:
    assert not _assess(only=("quiet",)).findings


@dataclass(frozen=True)
class _Broken:
    spec: Any
    time_ns: Any

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> Any:
        raise EpisodeError("the bytes are gone.")


def test_a_damaged_stream_fails_the_episode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    good = joints()
    label = "observations/joint_position"
    broken = _Broken(good.signals[label].spec, good.signals[label].time_ns)
    subject = Subject(replace(good, signals={**good.signals, label: broken}))
    found = assess(subject, pictures=False, only=("episode_unreadable",))
    assert [(each.check, each.stream) for each in found.findings] == [("episode_unreadable", label)]
    assert found.verdict == "failed"
