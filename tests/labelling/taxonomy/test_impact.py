"""What changes in a taxonomy touches only what it must."""

from __future__ import annotations

from typing import Any

from tests.labelling.good_annotation import READY, good_annotation

from corporeal.labelling.taxonomy import Taxonomy, find_impact
from corporeal.labelling.taxonomy.impact import reasons


def _changed(**changes: Any) -> Taxonomy:
    return Taxonomy.model_validate({**READY.model_dump(), "version": "1.1.0", **changes})


def _relabelled(lane: str, label: str, **changes: Any) -> Taxonomy:
    lanes = READY.model_dump()["lanes"]
    for each in lanes:
        for one in each["labels"]:
            if (each["name"], one["name"]) == (lane, label):
                one.update(changes)
    return _changed(lanes=lanes)


def test_another_example_touches_nothing() -> None:
    after = _relabelled("phase", "grasp", examples=["Another one."])
    assert find_impact(READY, after).is_empty


def test_another_rule_touches_the_label_and_only_annotations_that_use_it() -> None:
    after = _relabelled("phase", "grasp", starts={"event": "gripper_stops", "text": "Other."})
    found = find_impact(READY, after)
    assert set(found.labels) == {("phase", "grasp")}
    assert reasons(good_annotation(), found, task="pick_place") == (
        "grasp has another boundary rule",
    )
    without = good_annotation().model_copy(update={"segments": good_annotation().segments[:2]})
    assert reasons(without, found, task="pick_place") == ()


def test_a_grasp_type_that_is_gone_touches_those_who_use_it() -> None:
    kept = [each for each in READY.model_dump()["grasp_types"] if each["name"] != "power"]
    found = find_impact(READY, _changed(grasp_types=kept))
    assert reasons(good_annotation(), found, task="pick_place") == (
        "grasp_type power does not exist any more",
    )


def test_a_new_phase_touches_its_lane_and_a_new_need_its_task() -> None:
    lanes = READY.model_dump()["lanes"]
    lanes[0]["labels"] = [*lanes[0]["labels"], {"name": "place", "definition": "It is put down."}]
    assert ("phase", "transport") in find_impact(READY, _changed(lanes=lanes)).labels
    needs = [{"task": "pick_place", "lanes": ["phase", "quality"]}]
    found = find_impact(READY, _changed(requirements=needs))
    assert reasons(good_annotation(), found, task="pick_place") == ("pick_place now needs quality",)
    assert reasons(good_annotation(), found, task="reach") == ()
