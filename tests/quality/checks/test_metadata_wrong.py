"""What is said of the episode is true of its data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.quality.demonstrations import STATE, demonstration, edited, rows, told

from corporeal.episode.facts import ASSUMED, STREAM_RATES
from corporeal.episode.recording import Defect
from corporeal.quality import Subject
from corporeal.quality.checks.metadata_wrong import find


def _marked() -> dict[str, object]:
    marks = [{"what": "start", "time_ns": 1_200_000_000}, {"what": "end", "time_ns": 7_200_000_000}]
    return {"marks": marks, "roll": {"pre_s": 1.2, "post_s": 2.1, "short": []}}


def test_passes_when_the_data_bears_everything_out() -> None:
    good = told(demonstration(), robot="g1", length=470, **_marked())
    assert not list(find(Subject(good)))


def test_finds_another_robot() -> None:
    (found,) = find(Subject(told(demonstration(), robot="h1")))
    assert "h1" in found.message
    assert "g1" in found.message


def test_finds_a_stream_of_another_width_than_described() -> None:
    wide = edited(demonstration(), STATE, np.zeros((470, 9)))
    (found,) = find(Subject(wide))
    assert (found.stream, found.value, found.limit) == (STATE, 9.0, 8.0)


def test_finds_a_stated_length_that_is_wrong() -> None:
    (found,) = find(Subject(told(demonstration(), length=471)))
    assert (found.value, found.limit) == (470.0, 471.0)


def test_finds_streams_that_end_before_the_recorder_saw_them_end() -> None:
    cut = rows(told(demonstration(), **_marked()), np.arange(300))
    found = list(find(Subject(cut)))
    assert {each.stream for each in found} == set(cut.signals)
    assert "5.98 s" in found[0].message


def test_says_what_the_reader_met() -> None:
    defect = Defect("metadata_wrong", "fps is 20, the stamps say 30", 0, "timestamp", 30.0, 20.0)
    (found,) = find(Subject(replace(demonstration(), defects=(defect,))))
    assert (found.stream, found.value) == ("timestamp", 30.0)


def test_topics_of_a_bag_may_end_before_it_does() -> None:
    bag = {ASSUMED: {STREAM_RATES: "the middle step"}}
    assert not list(find(Subject(rows(told(demonstration(), **_marked(), **bag), np.arange(300)))))
