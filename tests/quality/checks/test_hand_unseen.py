"""Gaps in a demonstration by hands are found, and are only notes where the episode tells them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.quality.standing import standing

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.hand_unseen import CHECK
from corporeal.schema import Stream

NAMES = ("left_hand", "right_hand")


def followed(*gaps: tuple[int, int], told: bool) -> Recording:
    """4 s of a robot at 50 Hz that follows a left hand, away in some frames, and no right one."""
    seen = np.zeros((200, 2), np.uint8)
    seen[:, 0] = 1
    segments: list[dict[str, Any]] = []
    for first, stop in gaps:
        seen[first:stop, 0] = 0
        segments.append({"start_ns": first * 20_000_000, "end_ns": (stop - 1) * 20_000_000,
                         "not_seen": ["left_hand"]})  # fmt: skip
    spec = Stream(name="hand_seen", group="debug", dtype="uint8", shape=(2,), components=NAMES)
    recording = standing()
    signal = ArraySignal(spec, np.arange(200, dtype=np.int64) * 20_000_000, seen)
    return replace(recording, signals={**recording.signals, "debug/hand_seen": signal},
                   metadata={"segments": segments} if told else {})  # fmt: skip


def found(recording: Recording) -> list[Finding]:
    return list(CHECK.find(Subject(recording)))


def test_hands_that_are_seen_pass() -> None:
    assert found(followed(told=True)) == []
    assert found(followed((60, 63), told=True)) == []


def test_every_gap_is_named() -> None:
    (finding,) = found(followed((50, 60), (100, 150), told=True))
    assert finding.message == (
        "the left hand was not seen for 0.22 s from 0.98 s on and 1.02 s from 1.98 s on"
    )
    assert finding.frames == ((50, 60), (100, 150))
    assert finding.value == pytest.approx(1.02)
    assert finding.severity == "note"


def test_a_gap_that_the_segments_do_not_tell_is_quarantined() -> None:
    (finding,) = found(followed((100, 150), told=False))
    assert finding.severity is None
    assert CHECK.severity == "quarantine"


def test_gaps_in_a_recording_of_hands_are_named() -> None:
    stamps = np.delete(np.arange(200, dtype=np.int64), slice(90, 140)) * 20_000_000
    spec = Stream(name="right_hand_joints", group="observations", shape=(26, 3))
    signal = ArraySignal(spec, stamps, np.zeros((150, 26, 3)))
    recording = replace(standing(), signals={"observations/right_hand_joints": signal})
    (finding,) = found(recording)
    assert finding.message == "the right hand was not seen for 1.02 s from 1.78 s on"
    assert finding.frames == ((89, 91),)
    assert finding.severity == "note"


def test_an_episode_without_hands_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no hand_seen stream and no hands"):
        found(standing())
