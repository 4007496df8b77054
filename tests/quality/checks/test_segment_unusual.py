"""Every second is like those of good episodes of the task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.quality.samples import joints

from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.anomaly.envelope import CrossCheck, UnusualSegment
from corporeal.quality.checks.segment_unusual import CHECK


@dataclass(frozen=True)
class _Says:
    found: tuple[UnusualSegment, ...]
    cross_check: CrossCheck | None = None

    def segments(self, recording: Recording) -> list[UnusualSegment]:
        assert recording.signals
        return list(self.found)

    def segments_of(self, subject: Subject) -> list[UnusualSegment]:
        return self.segments(subject.recording)

    def save(self, path: Path) -> None: ...


def test_an_episode_like_the_others_passes() -> None:
    assert not list(CHECK.find(Subject(joints(), detector=_Says(()))))


def test_an_unusual_stretch_is_found_in_its_frames() -> None:
    detector = _Says((UnusualSegment(1_000_000_000, 2_000_000_000, 3.0),))
    (finding,) = CHECK.find(Subject(joints(rate_hz=50.0), detector=detector))
    assert finding.frames == ((50, 100),)
    assert finding.value == 3.0


def test_without_a_detector_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="corporeal learn"):
        list(CHECK.find(Subject(joints())))


@pytest.mark.parametrize(
    ("tried", "severity", "words"),
    [
        (None, None, "3.0 times the limit"),
        (CrossCheck(9, 0), "note", "learnt from 9 good episodes and 10 tell enough"),
        (CrossCheck(49, 1), "note", "1 of the 49 good episodes"),
        (CrossCheck(50, 1), None, "3.0 times the limit"),
        (CrossCheck(10), None, "3.0 times the limit"),
    ],
)
def test_a_detector_that_has_not_shown_its_worth_leaves_a_note(
    tried: CrossCheck | None, severity: str | None, words: str
) -> None:
    unusual = (UnusualSegment(1_000_000_000, 2_000_000_000, 3.0),)
    (finding,) = CHECK.find(Subject(joints(rate_hz=50.0), detector=_Says(unusual, tried)))
    assert finding.severity == severity
    assert words in finding.message
