"""Segments of two people are paired in order."""

from __future__ import annotations

from corporeal.labelling.comparison.matching import FrameSpan, pair_up


def test_segments_are_paired_in_order_and_the_odd_one_stays_alone() -> None:
    first = [
        FrameSpan("reach", 0, 50, 0),
        FrameSpan("grasp", 50, 60, 1),
        FrameSpan("lift", 60, 90, 2),
    ]
    second = [FrameSpan("reach", 0, 52, 0), FrameSpan("lift", 52, 90, 1)]
    assert pair_up(first, second) == [
        (first[0], second[0]),
        (first[1], None),
        (first[2], second[1]),
    ]
