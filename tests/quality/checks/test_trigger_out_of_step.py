"""A group of cameras that share a trigger is in step."""

from __future__ import annotations

from typing import Any

import pytest
from tests.quality.demonstrations import demonstration

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding, checks

GOOD: dict[str, Any] = {"cameras": ["a", "b"], "triggers": 300, "missed": {}, "out_of_step": {},
                        "skew_ms": {"median": 0.4, "worst": 2.0}}  # fmt: skip


def _judge(**changed: Any) -> list[Finding]:
    recording = demonstration(metadata={"trigger_groups": {"stereo": {**GOOD, **changed}}})
    return list(checks()["trigger_out_of_step"].find(Subject(recording)))


def test_passes_a_group_in_step() -> None:
    assert _judge() == []
    assert _judge(missed={"b": {"count": 1, "at_ns": [5_000_000_000]}}) == []


def test_finds_a_camera_that_is_a_frame_behind() -> None:
    (found,) = _judge(out_of_step={"b": {"frames": 1, "at_ns": 2_500_000_000}})
    assert found.message == "b is 1 frames behind in the trigger group stereo from 2.50 s on"
    assert found.severity == "fail"


def test_finds_missed_triggers_and_skew() -> None:
    (found,) = _judge(missed={"b": {"count": 30, "at_ns": [5_000_000_000]}})
    assert found.message == "b missed 30 of 300 triggers of stereo, the first at 5.00 s"
    (found,) = _judge(skew_ms={"median": 12.0, "worst": 20.0})
    assert "12.0 ms apart" in found.message


def test_nonsense_in_the_metadata_does_no_harm() -> None:
    odd = {"b": {"frames": "x", "count": [], "at_ns": {"y": 1}}, "c": 3}
    assert _judge(triggers="many", missed=odd, skew_ms=[1]) == []
    assert len(_judge(out_of_step=odd)) == 1


def test_without_a_group_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(checks()["trigger_out_of_step"].find(Subject(demonstration())))
