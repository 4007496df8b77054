"""Events become phases; neighbours and programs are asked; nothing they say is simply believed."""

from __future__ import annotations

import pytest
from tests.labelling.picking import READY, head_camera, phase_labels, picking, recorded

from corporeal.errors import UnknownNameError
from corporeal.labelling.frames import end_ns
from corporeal.labelling.proposal import propose


def test_a_proposal_tiles_the_episode_on_its_frames_and_confirms_nothing() -> None:
    annotation = propose(picking(), READY, task="pick_place")
    assert annotation is not None
    assert phase_labels(annotation) == [
        "rest", "approach", "grasp", "lift", "place", "retract", "rest",
    ]  # fmt: skip
    phases, stamps = annotation.in_lane("phase"), head_camera().time_ns
    assert [a.end_ns for a in phases[:-1]] == [b.start_ns for b in phases[1:]]
    assert phases[0].start_ns == 0
    assert phases[-1].end_ns == end_ns(stamps)
    assert {segment.start_ns for segment in annotation.segments} <= set(stamps.tolist())
    assert all(each.source == "proposal" and not each.confirmed for each in annotation.segments)
    assert [each.label for each in annotation.in_lane("right_contact")] == ["holds"]
    assert phases[2].attributes == {"hand": "right", "grasp_type": "precision_pinch"}
    assert annotation.outcome == "success"
    assert len({each.id for each in annotation.segments}) == len(annotation.segments)


def test_an_unknown_proposer_is_told_with_the_names_of_the_others() -> None:
    with pytest.raises(UnknownNameError, match="neighbours"):
        propose(picking(), READY, task="pick_place", using="oracle")


def test_an_episode_without_frames_has_no_proposal() -> None:
    assert propose(recorded(camera=False), READY, task="pick_place") is None
