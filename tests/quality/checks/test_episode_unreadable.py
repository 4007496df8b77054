"""Every stream can be read, and there is something to read."""

from __future__ import annotations

from dataclasses import replace

from tests.quality.samples import joints

from corporeal.quality import Subject
from corporeal.quality.checks.episode_unreadable import CHECK


def test_a_whole_recording_passes() -> None:
    assert not list(CHECK.find(Subject(joints())))


def test_an_episode_in_which_nothing_was_recorded_is_found() -> None:
    (finding,) = CHECK.find(Subject(replace(joints(), signals={})))
    assert "nothing was recorded" in finding.message
