"""An annotated episode lends its phases to one that moves alike."""

from __future__ import annotations

import numpy as np
from tests.labelling.picking import (
    READY,
    SECOND,
    phase_labels,
    picking,
    recorded,
    signal,
)

from corporeal.labelling.proposal import Example, propose


def _example(*, pace: float = 1.0) -> Example:
    recording = picking(pace=pace)
    annotation = propose(recording, READY, task="pick_place")
    assert annotation is not None
    return Example(recording, annotation)


def test_a_neighbour_lends_its_phases_and_events_put_them_right() -> None:
    quick, straight = picking(pace=1.25), propose(picking(pace=1.25), READY, task="pick_place")
    found = propose(quick, READY, task="pick_place", examples=[_example()], using="neighbours")
    assert found is not None
    assert straight is not None
    assert phase_labels(found) == phase_labels(straight)
    ours, theirs = found.in_lane("phase"), straight.in_lane("phase")
    apart = [abs(a.start_ns - b.start_ns) for a, b in zip(ours, theirs, strict=True)]
    assert max(apart) <= 2 * SECOND // 30


def test_without_examples_neighbours_say_nothing() -> None:
    assert propose(picking(), READY, task="pick_place", using="neighbours") is None


def test_an_example_of_another_robot_is_passed_over() -> None:
    other = recorded(signal("joint_position", np.zeros((500, 9))))
    odd = Example(other, _example().annotation)
    assert propose(picking(), READY, task="pick_place", examples=[odd], using="neighbours") is None


def test_later_proposers_fill_in_what_earlier_ones_leave_open() -> None:
    both = propose(picking(), READY, task="pick_place", examples=[_example()],
                   using=("neighbours", "events"))  # fmt: skip
    assert both is not None
    assert both.outcome == "success"
    assert both.in_lane("right_contact")
    assert len({each.id for each in both.segments}) == len(both.segments)
