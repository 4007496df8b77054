"""Every stream that is named is there, with samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.quality.demonstrations import GRIPPER, STATE, demonstration, rows

from corporeal.episode.recording import Defect
from corporeal.quality import Subject
from corporeal.quality.checks.stream_missing import find


def test_passes_when_every_stream_has_samples() -> None:
    assert not list(find(Subject(demonstration())))


def test_finds_a_stream_that_the_schema_names_and_the_file_lacks() -> None:
    lacking = replace(demonstration(), missing_streams=("observations/head_imu",))
    (found,) = find(Subject(lacking))
    assert found.stream == "observations/head_imu"


def test_finds_a_stream_without_samples() -> None:
    good = demonstration()
    empty = rows(good, np.zeros(0, np.int64)).signals[GRIPPER]
    (found,) = find(Subject(replace(good, signals={**good.signals, GRIPPER: empty})))
    assert (found.stream, found.value) == (GRIPPER, 0.0)


def test_says_what_the_reader_met_once() -> None:
    defect = Defect("stream_missing", "the camera has no movie", 0, "cam")
    other = Defect("index_wrong", "row 3 is missing", 0, STATE)
    spoilt = replace(demonstration(), defects=(defect, other), missing_streams=("cam",))
    (found,) = find(Subject(spoilt))
    assert found.message == "the camera has no movie"
