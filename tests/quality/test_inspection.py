"""Datasets: every episode gets its verdict, whatever happens to its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.quality.samples import SampleOpener, joints

from corporeal.quality import inspection
from corporeal.quality.assessment import Assessment
from corporeal.quality.check import Finding
from corporeal.quality.inspection import (
    EpisodeReport,
    InspectionOptions,
    inspect,
    inspect_recording,
)
from corporeal.quality.policy import default_policy
from corporeal.runner import Result

REQUEST = InspectionOptions(
    default_policy(), pictures=False, only=("values_not_finite", "episode_duplicated")
)


def test_the_bad_episode_is_named_and_the_others_are_accepted() -> None:
    report = inspect(SampleOpener(4, nan=(2,)), REQUEST)
    assert [each.verdict for each in report.episodes] == ["accepted"] * 2 + ["failed", "accepted"]
    (finding,) = report.episodes[2].findings
    assert (finding.check, finding.frames) == ("values_not_finite", ((20, 23),))
    assert not report.accepted


def test_an_episode_that_cannot_be_read_fails_and_the_rest_goes_on() -> None:
    report = inspect(SampleOpener(3, lost=(0,)), REQUEST)
    assert [each.verdict for each in report.episodes] == ["failed", "accepted", "accepted"]
    assert report.episodes[0].findings[0].message == "sample_0.h5: breaks off."


@pytest.mark.slow
def test_two_processes_say_the_same_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "_NUMBER_S", 1.0)  # As if there were work for many.
    opener = SampleOpener(40, nan=(3, 17, 39), lost=(5,))
    one, two = inspect(opener, REQUEST), inspect(opener, REQUEST, jobs=2)
    assert one.to_json() == two.to_json()


def test_processes_are_started_for_what_they_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def stand_in(*_: object, jobs: int, **__: object) -> Iterator[Result[EpisodeReport]]:
        started.append(jobs)
        yield from ()

    monkeypatch.setattr(inspection, "run", stand_in)
    # Forty short episodes are done before a second process has started.
    for number_s in (1.5e-6, 1.0):
        monkeypatch.setattr(inspection, "_NUMBER_S", number_s)
        with pytest.raises(KeyError):  # The stand-in does nothing, so there is no report.
            inspect(SampleOpener(40), REQUEST, jobs=2)
    assert started == [1, 2]


def test_progress_hears_of_every_episode() -> None:
    heard: list[int] = []
    inspect(
        SampleOpener(3), REQUEST, on_start=heard.append, on_episode=lambda e: heard.append(e.index)
    )
    assert heard == [3, 0, 1, 2]


def test_what_the_batch_says_of_an_episode_counts_for_its_verdict() -> None:
    episode = EpisodeReport(1, "id", joints().source, Assessment((), {}))
    twin = Finding(
        "the same as 0", episodes=(0, 1), severity="quarantine", check="episode_duplicated"
    )
    assert replace(episode, batch_findings=(twin,)).verdict == "quarantined"
    assert episode.verdict == "accepted"


def test_json_has_the_fields_of_the_contract() -> None:
    plain = inspect(SampleOpener(2, nan=(1,)), REQUEST).to_json()
    assert set(plain) >= {"episodes", "set"}
    fields = {"id", "index", "source", "verdict", "findings", "not_assessed"}
    assert set(plain["episodes"][0]) == fields
    assert "findings" in plain["set"]


def test_a_long_recording_is_judged_in_pieces() -> None:
    long = joints(frames=13000, rate_hz=10.0)
    report = inspect_recording(long, REQUEST)
    assert report.synopsis is None
    assert report.verdict == "accepted"
