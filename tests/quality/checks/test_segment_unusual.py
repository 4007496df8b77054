"""Every second is like those of good episodes of the task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.quality.samples import joints

from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.anomaly.envelope import UnusualSegment
from corporeal.quality.checks.segment_unusual import CHECK


@dataclass(frozen=True)
class _Says:
    found: tuple[UnusualSegment, ...]

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
