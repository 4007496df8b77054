"""Adherence is reported rule by rule."""

from __future__ import annotations

from tests.quality.demonstrations import batch_of, demonstration
from tests.quality.ruled import MARKS, marked

from corporeal.protocol import open_protocol
from corporeal.protocol.protocol import Prohibition
from corporeal.quality import Subject
from corporeal.quality.assessment import RULES, adherence, assess
from corporeal.quality.batch import Batch
from corporeal.quality.check import checks

PROTOCOL = open_protocol("pick_place")


def test_every_rule_has_its_check_and_every_check_of_a_protocol_its_rule() -> None:
    ruled = {name for name, check in checks().items() if check.topic == "protocol"}
    assert set(RULES.values()) == ruled


def test_every_rule_is_kept_broken_or_not_judged() -> None:
    short = marked(marks=[MARKS[0], {"what": "end", "time_ns": 2_000_000_000}])
    found = assess(Subject(short, PROTOCOL), pictures=False)
    rules = {rule.name: rule for rule in adherence(found, PROTOCOL)}
    assert rules["start state"].kept is True
    assert rules["duration"].kept is False
    assert "0.8 s" in rules["duration"].message
    assert rules["force"].kept is None
    assert "operators" not in rules
    judged = [rule.kept for rule in rules.values() if rule.kept is not None]
    assert 0.5 < sum(judged) / len(judged) < 1.0


def test_a_batch_has_rules_of_its_own() -> None:
    batch = Batch(batch_of(demonstration()).episodes, protocol=PROTOCOL)
    rules = adherence(assess(batch, scope="batch"), PROTOCOL, batch=True)
    assert [rule.name for rule in rules] == [
        "approaches",
        "operators",
        "operator rotation",
        "spread of initial conditions",
        "diversity of approach",
        "share of edge cases",
    ]
    assert {rule.kept for rule in rules} == {None}


def test_what_people_are_asked_is_not_judged_until_they_answer() -> None:
    rule = Prohibition(behaviour="dragging over the surface")
    asked = PROTOCOL.model_copy(update={"prohibited": (*PROTOCOL.prohibited, rule)})
    for answers, kept, words in (
        ({}, None, "asked of people: Did this happen: dragging over the surface?"),
        ({rule.question: True}, False, "somebody saw it"),
        ({rule.question: False}, True, "as pick_place"),
    ):
        found = assess(Subject(marked(answers=answers), asked), pictures=False)
        judged = {each.name: each for each in adherence(found, asked)}["prohibited behaviour"]
        assert judged.kept is kept
        assert words in judged.message
