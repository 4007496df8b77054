"""A taxonomy says what labels mean, and refuses what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from tests.labelling.good_annotation import READY

from corporeal.errors import DocumentError, UnknownNameError
from corporeal.labelling.annotation import Segment
from corporeal.labelling.event import detectors
from corporeal.labelling.hierarchy import compose
from corporeal.labelling.taxonomy import Taxonomy, open_taxonomy, taxonomy_names


def _changed(**changes: Any) -> Taxonomy:
    return Taxonomy.model_validate({**READY.model_dump(), "version": "1.1.0", **changes})


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


def test_what_came_later_does_not_change_the_hash_of_a_taxonomy_without_it() -> None:
    text = """
document: taxonomy
name: plain
version: 1.0.0
lanes:
  - {name: phase, kind: phase, title: Phases, labels: [{name: rest, definition: Nothing.}]}
requirements:
  - {task: "*", lanes: [phase]}
"""
    plain = Taxonomy.parse(text)
    for name in ("optional", "parts", "was", "may_lack", "flags", "frames", "level"):
        assert f'"{name}"' not in plain.canonical()
    assert Taxonomy.parse(plain.canonical(), suffix=".json").hash == plain.hash


def test_phases_make_actions_and_actions_an_activity() -> None:
    labels = ["rest", "approach", "grasp", "lift", "transport", "place", "release", "retract"]
    phases = [
        Segment(id=f"p{number}", lane="phase", label=label, start_ns=number, end_ns=number + 1,
                confidence=0.9 - 0.1 * number)
        for number, label in enumerate(labels)
    ]  # fmt: skip
    made = compose(phases, open_taxonomy("manipulation"))
    assert [(each.label, each.start_ns, each.end_ns) for each in made] == [
        ("pick", 1, 4), ("carry", 4, 5), ("put_down", 5, 8), ("rearrange", 1, 8),
    ]  # fmt: skip
    assert made[0].confidence == pytest.approx(0.6)
    assert compose([*phases, *made], open_taxonomy("manipulation")) == ()
