"""A small model learns phases from what people confirmed, and says nothing without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.labelling.picking import READY, SECOND, phase_labels, picking

from corporeal.interface import open_dataset
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.proposal import Example, propose

PHASES = ["rest", "approach", "grasp", "lift", "place", "retract", "rest"]


def _example(pace: float, *, moved_s: float = 0.0) -> Example:
    recording = picking(pace=pace)
    annotation = propose(recording, READY, task="pick_place")
    assert annotation is not None
    return Example(recording, _later(annotation, round(moved_s * SECOND)).as_confirmed())


def _later(annotation: Annotation, shift_ns: int) -> Annotation:
    """The same with the grasp begun later: a rule of a team's own."""
    segments = []
    for phase in annotation.segments:
        change = {}
        if phase.lane == "phase" and phase.label == "grasp":
            change = {"start_ns": phase.start_ns + shift_ns}
        if phase.lane == "phase" and phase.label == "approach":
            change = {"end_ns": phase.end_ns + shift_ns}
        segments.append(phase.model_copy(update=change))
    return annotation.model_copy(update={"segments": tuple(segments)})


def test_phases_are_learnt_from_two_corrected_episodes() -> None:
    examples = [_example(0.9), _example(1.1)]
    learnt = propose(picking(), READY, task="pick_place", examples=examples, using="learnt")
    wanted = propose(picking(), READY, task="pick_place")
    assert wanted is not None
    assert learnt is not None
    assert phase_labels(learnt) == PHASES
    pairs = zip(learnt.in_lane("phase"), wanted.in_lane("phase"), strict=True)
    assert max(abs(a.start_ns - b.start_ns) for a, b in pairs) <= 0.2 * SECOND
    assert all(0.0 < (phase.confidence or 0.0) <= 1.0 for phase in learnt.segments)


def test_what_people_put_right_moves_the_proposal() -> None:
    def grasp_ns(moved_s: float) -> int:
        examples = [_example(0.9, moved_s=moved_s), _example(1.1, moved_s=moved_s)]
        learnt = propose(picking(), READY, task="pick_place", examples=examples, using="learnt")
        assert learnt is not None
        return next(p.start_ns for p in learnt.in_lane("phase") if p.label == "grasp")

    assert grasp_ns(0.4) - grasp_ns(0.0) > 0.2 * SECOND


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_examples_say_nothing(count: int) -> None:
    examples = [_example(0.9)][:count]
    assert propose(picking(), READY, task="pick_place", examples=examples, using="learnt") is None


def test_real_episodes_are_learnt_from_each_other(shared_data: Path) -> None:
    dataset = open_dataset(shared_data / "lerobot" / "g1_inspire_v21_part")
    recordings = [dataset.open(number) for number in dataset.episodes]
    annotations = [propose(each, READY, task=each.facts.task) for each in recordings]
    examples = [Example(recording, annotation) for recording, annotation
                in zip(recordings[:8], annotations[:8], strict=True) if annotation]  # fmt: skip
    for recording, wanted in zip(recordings[8:], annotations[8:], strict=True):
        learnt = propose(recording, READY, task=None, examples=examples, using="learnt")
        assert learnt is not None
        assert wanted is not None
        starts = {p.label: p.start_ns for p in wanted.in_lane("phase") if p.label != "rest"}
        ours = {p.label: p.start_ns for p in learnt.in_lane("phase") if p.label != "rest"}
        assert ours.keys() >= {"approach", "grasp", "retract"}
        apart = [abs(ours[label] - starts[label]) / SECOND for label in ours.keys() & starts.keys()]
        assert np.median(apart) < 0.5
