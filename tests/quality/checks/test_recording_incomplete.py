"""The recording ran to its end."""

from __future__ import annotations

from dataclasses import replace

from tests.quality.demonstrations import STATE, demonstration, told

from corporeal.episode.facts import ASSUMED, STREAM_RATES
from corporeal.quality import Subject
from corporeal.quality.checks.recording_incomplete import CHECK, find


def test_passes_when_nothing_was_cut_off() -> None:
    assert not list(find(Subject(told(demonstration(), losses={STATE: 0}))))


def test_finds_a_recording_that_was_recovered() -> None:
    (found,) = find(Subject(replace(demonstration(), recovered="no end mark")))
    assert "no end mark" in found.message
    assert CHECK.severity == "quarantine"


def test_finds_why_the_recorder_held_it_back() -> None:
    (found,) = find(Subject(told(demonstration(), quarantine="the disk was full")))
    assert "the disk was full" in found.message


def test_says_one_reason_once() -> None:
    twice = replace(told(demonstration(), quarantine="killed"), recovered="killed")
    assert len(list(find(Subject(twice)))) == 1


def test_finds_samples_that_were_lost_on_the_way() -> None:
    (found,) = find(Subject(told(demonstration(), losses={STATE: {"full": 3, "late": 2}})))
    assert (found.stream, found.value) == (STATE, 5.0)


def test_what_a_bag_seems_to_miss_is_not_lost() -> None:
    bag = {ASSUMED: {STREAM_RATES: "the middle step"}, "losses": {STATE: {"missed": 9}}}
    assert not list(find(Subject(told(demonstration(), **bag))))
    bag["losses"] = {STATE: {"missed": 9, "refused": 2}}
    (found,) = find(Subject(told(demonstration(), **bag)))
    assert found.value == 2.0


def test_a_bag_that_breaks_off_is_found() -> None:
    said = ["run.mcap breaks off after 1300 messages (its end is missing)."]
    (finding,) = find(Subject(told(demonstration(), source_problems=said)))
    assert "breaks off after 1300 messages" in finding.message
