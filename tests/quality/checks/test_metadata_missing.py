"""The metadata has no hole."""

from __future__ import annotations

from dataclasses import replace

from tests.quality.demonstrations import demonstration, told

from corporeal.quality import Subject
from corporeal.quality.checks.metadata_missing import CHECK, find


def test_passes_when_nothing_is_missing() -> None:
    assert not list(find(Subject(demonstration())))


def test_finds_the_fields_that_the_schema_asks_for() -> None:
    holed = replace(demonstration(), missing_metadata=("operator", "calibration"))
    (found,) = find(Subject(holed))
    assert "operator, calibration" in found.message
    assert found.severity is None
    assert CHECK.severity == "quarantine"


def test_finds_empty_fields_that_a_policy_needs() -> None:
    (found,) = find(Subject(told(demonstration(), station="")), needed=("station", "task"))
    assert found.message.endswith("station")


def test_a_simulated_episode_has_no_operator_to_name() -> None:
    simulated = told(demonstration(), mode="synthetic")
    simulated = replace(simulated, missing_metadata=("operator", "station"))
    assert not list(find(Subject(simulated)))


def test_a_log_that_nobody_told_anything_leaves_a_note() -> None:
    bag = replace(demonstration(), missing_metadata=("operator", "session", "software", "mode"))
    (found,) = find(Subject(bag))
    assert found.severity == "note"
    (found,) = find(Subject(bag), needed=("operator",))
    assert found.severity is None
