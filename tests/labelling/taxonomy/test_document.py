"""A taxonomy says what labels mean; what changes in it touches only what it must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corporeal.errors import DocumentError, UnknownNameError
from corporeal.labelling.annotation import Annotation, Instruction, Segment
from corporeal.labelling.completeness import complaints
from corporeal.labelling.event import detectors
from corporeal.labelling.frames import boundary_ns, end_ns
from corporeal.labelling.taxonomy import Taxonomy, find_impact, open_taxonomy
from corporeal.labelling.taxonomy.document import taxonomy_names
from corporeal.labelling.taxonomy.impact import reasons

STAMPS = np.arange(100, dtype=np.int64) * 33_000_000
READY = open_taxonomy("manipulation")


def _changed(**changes: Any) -> Taxonomy:
    return Taxonomy.model_validate({**READY.model_dump(), "version": "1.1.0", **changes})


def _relabelled(lane: str, label: str, **changes: Any) -> Taxonomy:
    lanes = READY.model_dump()["lanes"]
    for each in lanes:
        for one in each["labels"]:
            if (each["name"], one["name"]) == (lane, label):
                one.update(changes)
    return _changed(lanes=lanes)


def _good() -> Annotation:
    edges = [0, 10, 40, 50, 80, 90]
    labels = ["rest", "reach", "grasp", "transport", "retreat", "rest"]
    said = {"hand": "right", "object": "box", "grasp_type": "power"}
    times = [int(STAMPS[edge]) for edge in edges] + [end_ns(STAMPS)]
    wanted = {label.name: label.attributes for _, label in READY.labels()}
    return Annotation(
        reference="observations/head_left",
        segments=tuple(
            Segment(id=f"s{place}", lane="phase", label=label, start_ns=times[place],
                    end_ns=times[place + 1],
                    attributes={name: said[name] for name in wanted[label]})
            for place, label in enumerate(labels)
        ),
        instructions=(Instruction(id="i", text="Put the box on the mark."),),
        outcome="success",
    )  # fmt: skip


def _complaints(annotation: Annotation) -> tuple[str, ...]:
    return complaints(annotation, READY, task="pick_place", stamps=STAMPS)


@pytest.mark.parametrize("name", taxonomy_names())
def test_every_rule_of_a_ready_taxonomy_names_an_event_that_a_detector_finds(name: str) -> None:
    known = {event for detector in detectors().values() for event in detector.names}
    rules = [rule for _, label in open_taxonomy(name).labels()
             for rule in (label.starts, label.ends) if rule is not None]  # fmt: skip
    assert rules
    assert {event for rule in rules for event in rule.events} <= known


@pytest.mark.parametrize("name", taxonomy_names())
def test_no_two_labels_of_a_lane_share_a_key(name: str) -> None:
    for lane in open_taxonomy(name).lanes:
        keys = [label.key for label in lane.labels if label.key]
        assert len(set(keys)) == len(keys)


def test_an_unknown_taxonomy_is_told_with_the_names_of_the_others() -> None:
    with pytest.raises(UnknownNameError, match="manipulation"):
        open_taxonomy("manipulations")


def test_a_label_below_itself_is_refused() -> None:
    text = """
document: taxonomy
name: loop
version: 1.0.0
lanes:
  - {name: phase, kind: phase, title: P, labels: [
      {name: a, definition: x, parent: b}, {name: b, definition: y, parent: a}]}
"""
    with pytest.raises(DocumentError, match="its own ancestor"):
        Taxonomy.parse(text)


def test_an_order_of_labels_that_do_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="orders 'dance'"):
        _changed(requirements=[{"task": "x", "order": ["dance"]}])


def test_a_complete_annotation_has_no_complaints() -> None:
    assert _complaints(_good()) == ()


def test_what_is_missing_is_named_with_its_moment() -> None:
    good = _good()
    parts = good.segments
    cases = {
        "nothing is said from 0.330 s to 1.320 s": [*parts[:1], *parts[2:]],
        "proposed, but nobody has confirmed it": [
            *parts[:5], parts[5].model_copy(update={"confirmed": False})],
        "lies between two frames": [
            *parts[:5], parts[5].model_copy(update={"start_ns": parts[5].start_ns + 5})],
        "overlap at": [*parts[:5], parts[5].model_copy(update={"start_ns": int(STAMPS[85])})],
        "grasp type is not said": [
            *parts[:2], parts[2].model_copy(update={"attributes": {"hand": "right"}}), *parts[3:]],
        "got 'claw'; expected power or": [
            *parts[:2],
            parts[2].model_copy(update={"attributes": {**parts[2].attributes,
                                                       "grasp_type": "claw"}}), *parts[3:]],
        "has no such label": [*parts[:5], parts[5].model_copy(update={"label": "dance"})],
        "nothing is labelled, and pick_place needs it": [],
    }  # fmt: skip
    for sentence, segments in cases.items():
        told = _complaints(good.model_copy(update={"segments": tuple(segments)}))
        assert any(sentence in each for each in told), (sentence, told)


def test_a_failure_needs_its_mode_and_a_success_has_none() -> None:
    good = _good()
    failed = good.model_copy(update={"outcome": "failure"})
    assert any("failure mode, got None" in each for each in _complaints(failed))
    odd = good.model_copy(update={"failure_mode": "slip"})
    assert any("for a success" in each for each in _complaints(odd))
    unsaid = good.model_copy(update={"outcome": None, "instructions": ()})
    told = " ".join(_complaints(unsaid))
    assert "success or failure is not said" in told
    assert "instructions, got 0" in told


def test_another_example_touches_nothing() -> None:
    after = _relabelled("phase", "grasp", examples=["Another one."])
    assert find_impact(READY, after).is_empty


def test_another_rule_touches_the_label_and_only_annotations_that_use_it() -> None:
    after = _relabelled("phase", "grasp", starts={"event": "gripper_stops", "text": "Other."})
    found = find_impact(READY, after)
    assert set(found.labels) == {("phase", "grasp")}
    assert reasons(_good(), found, task="pick_place") == ("grasp has another boundary rule",)
    without = _good().model_copy(update={"segments": _good().segments[:2]})
    assert reasons(without, found, task="pick_place") == ()


def test_a_grasp_type_that_is_gone_touches_those_who_use_it() -> None:
    kept = [each for each in READY.model_dump()["grasp_types"] if each["name"] != "power"]
    found = find_impact(READY, _changed(grasp_types=kept))
    assert reasons(_good(), found, task="pick_place") == (
        "grasp_type power does not exist any more",
    )


def test_a_new_phase_touches_its_lane_and_a_new_need_its_task() -> None:
    lanes = READY.model_dump()["lanes"]
    lanes[0]["labels"] = [*lanes[0]["labels"], {"name": "place", "definition": "It is put down."}]
    assert ("phase", "transport") in find_impact(READY, _changed(lanes=lanes)).labels
    needs = [{"task": "pick_place", "lanes": ["phase", "quality"]}]
    found = find_impact(READY, _changed(requirements=needs))
    assert reasons(_good(), found, task="pick_place") == ("pick_place now needs quality",)
    assert reasons(_good(), found, task="reach") == ()


def test_a_boundary_lies_on_the_first_frame_that_shows_the_event() -> None:
    assert boundary_ns(STAMPS, 33_000_001) == 66_000_000
    assert boundary_ns(STAMPS, 33_000_000) == 33_000_000
    assert boundary_ns(STAMPS, 10**12) == int(STAMPS[-1])
