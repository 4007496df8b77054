"""A stamp decades off is found, and costs no more than any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.quality.moving import IMU, moving, restamped

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.assessment import span_s
from corporeal.quality.checks.clock_jumps import CHECK
from corporeal.quality.evidence.stray_stamps import settle_clocks
from corporeal.quality.inspection import InspectionOptions, inspect_recording
from corporeal.quality.policy import default_policy
from corporeal.quality.scoring import measure

YEAR_NS = round(365.25 * 86400e9)
Edit = Callable[[NDArray[np.int64]], NDArray[np.int64]]


def stray(number: int, years: float) -> Edit:
    def edit(when: NDArray[np.int64]) -> NDArray[np.int64]:
        when[number] += round(years * YEAR_NS)
        return when

    return edit


def woken(years: float) -> Edit:
    """The first thirty samples before the clock was set."""

    def edit(when: NDArray[np.int64]) -> NDArray[np.int64]:
        when[:30] += round(years * YEAR_NS)
        return when

    return edit


def test_stamps_in_one_stretch_pass() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


@pytest.mark.parametrize(
    ("edit", "frames", "words"),
    [
        (stray(500, -56.9), ((500, 501),), "56.9 years before"),
        (stray(500, 73.1), ((500, 501),), "73.1 years after"),
        (woken(-56.9), ((0, 30),), "30 of"),
        (stray(0, 146.0), ((0, 1),), "146.0 years after"),
    ],
)
def test_stamps_decades_off_are_found(
    edit: Edit, frames: tuple[tuple[int, int], ...], words: str
) -> None:
    (finding,) = CHECK.find(Subject(restamped(moving(), IMU, edit)))
    assert (finding.stream, finding.frames) == (IMU, frames)
    assert words in finding.message


def test_nothing_is_said_of_no_samples() -> None:
    recording = replace(moving(), signals={})
    with pytest.raises(NotAssessed, match="no stream has samples"):
        list(CHECK.find(Subject(recording)))


@pytest.mark.parametrize("years", [-56.9, 73.1])
def test_the_rest_is_judged_as_if_the_stamp_were_right(years: float) -> None:
    request = InspectionOptions(default_policy(), pictures=False)
    good = inspect_recording(moving(), request)
    bad = inspect_recording(restamped(moving(), IMU, stray(500, years)), request)
    (jump,) = (each for each in bad.findings if each.check == "clock_jumps")
    assert jump.severity == "quarantine"
    others = [each.check for each in bad.findings if each is not jump]
    assert others == [each.check for each in good.findings]
    assert bad.assessment.not_assessed == good.assessment.not_assessed


def test_a_recording_settles_into_its_main_stretch() -> None:
    whole = moving()
    settled = settle_clocks(restamped(whole, IMU, stray(500, -56.9)))
    assert span_s(settled.recording) == span_s(whole)
    when = settled.recording.signals[IMU].time_ns
    assert abs(int(when[500]) - int(whole.signals[IMU].time_ns[500])) < 10_000_000
    cut = settle_clocks(restamped(whole, IMU, woken(-56.9)))
    assert cut.first == {IMU: 30}
    assert len(cut.recording.signals[IMU]) == len(whole.signals[IMU]) - 30
    assert np.array_equal(cut.recording.signals[IMU][:], whole.signals[IMU][:][30:])
    assert settle_clocks(whole).recording is whole


def test_a_stamp_at_the_end_of_all_time_is_only_one_stamp() -> None:
    def edit(when: NDArray[np.int64]) -> NDArray[np.int64]:
        when[0], when[-1] = -(2**62), 2**62
        return when

    recording = restamped(moving(), IMU, edit)
    (finding,) = CHECK.find(Subject(recording))
    assert "2 of" in finding.message
    assert measure(Subject(recording)).reasons == measure(Subject(moving())).reasons
