"""Stamps that stand still or go back are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.quality.moving import IMU, moving, restamped

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.stamps_not_increasing import CHECK


def test_a_clock_that_moves_forward_passes() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


def test_a_repeated_stamp_is_found() -> None:
    def edit(when: NDArray[np.int64]) -> NDArray[np.int64]:
        when[500] = when[499]
        return when

    (finding,) = CHECK.find(Subject(restamped(moving(), IMU, edit)))
    assert (finding.stream, finding.frames, finding.value) == (IMU, ((500, 501),), 0.0)
    assert "1 stand still" in finding.message


def test_a_reversed_stamp_is_found() -> None:
    def edit(when: NDArray[np.int64]) -> NDArray[np.int64]:
        when[[700, 701]] = when[[701, 700]]
        return when

    (finding,) = CHECK.find(Subject(restamped(moving(), IMU, edit)))
    assert finding.frames == ((701, 702),)
    assert "1 go back" in finding.message


def test_a_recording_without_streams_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(Subject(replace(moving(), signals={}))))
