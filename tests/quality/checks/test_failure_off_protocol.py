"""Failures are kept and labelled, or not kept."""

from __future__ import annotations

from tests.quality.ruled import judge, marked

NAME = "failure_off_protocol"


def test_passes_a_failure_that_is_kept_and_labelled() -> None:
    assert not list(judge(NAME, marked(outcome={"success": False, "failure": "drop"})))


def test_finds_a_failure_where_none_is_kept() -> None:
    lost = marked(outcome={"success": False, "failure": "drop"})
    (found,) = judge(NAME, lost, keep_failures=False)
    assert found.message == "failure: drop; the protocol keeps no failures"


def test_notes_an_end_that_nobody_labelled() -> None:
    (found,) = judge(NAME, marked(outcome=None))
    assert found.severity == "note"
