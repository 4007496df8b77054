"""Streams that lie beside the episode are found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.moving import IMU, moving, restamped

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.streams_out_of_sync import CHECK

CLOCKS = {"clocks": {"robot": {"residual_ns": 20_000}}}


def test_streams_that_were_cut_together_pass() -> None:
    assert list(CHECK.find(Subject(replace(moving(), metadata=CLOCKS)))) == []


@pytest.mark.parametrize("shift_ms", [-80, 80])
def test_a_shifted_stream_is_found(shift_ms: int) -> None:
    shifted = restamped(moving(), IMU, lambda when: when + shift_ms * 1_000_000)
    (finding,) = CHECK.find(Subject(replace(shifted, metadata=CLOCKS)))
    assert finding.stream == IMU
    assert finding.value == pytest.approx(0.08, abs=0.02)


def test_streams_that_were_started_one_by_one_may_be_shifted() -> None:
    shifted = restamped(moving(), IMU, lambda when: when + 80_000_000)
    assert list(CHECK.find(Subject(shifted))) == []


def test_a_stream_in_another_epoch_is_found() -> None:
    apart = restamped(moving(), IMU, lambda when: when + 3600 * 10**9)
    (finding,) = CHECK.find(Subject(apart))
    assert (finding.stream, finding.value, finding.severity) == (IMU, 0.0, "fail")


def test_an_uncertain_clock_is_reported() -> None:
    vague = {"clocks": {"head": {"residual_ns": 9_000_000}}}
    (finding,) = CHECK.find(Subject(replace(moving(), metadata=vague)))
    assert "source head" in finding.message


@pytest.mark.parametrize(("uncertainty_ns", "count"), [(6_000_000, 1), (2_000_000, 0), (None, 0)])
def test_a_clock_is_as_sure_as_its_uncertainty(uncertainty_ns: int | None, count: int) -> None:
    clock = {"residual_ns": 2_000_000, "uncertainty_ns": uncertainty_ns}
    recording = replace(moving(), metadata={"clocks": {"head": clock}})
    assert len(list(CHECK.find(Subject(recording)))) == count


def test_one_stream_alone_is_not_assessed() -> None:
    recording = moving()
    with pytest.raises(NotAssessed, match="only one"):
        list(CHECK.find(Subject(replace(recording, signals={IMU: recording.signals[IMU]}))))
