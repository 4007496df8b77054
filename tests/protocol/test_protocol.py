"""The protocol document: ready ones load, bad ones are refused, its text means what it meant."""

from __future__ import annotations

import pytest

from corporeal.errors import DocumentError, UnknownNameError
from corporeal.protocol import Protocol, open_protocol, protocol_names
from corporeal.schema.document import changes
from corporeal.simulation.task import tasks

SMALL = """
document: protocol
name: wave
version: 1.0.0
task: {name: wave, goal: The hand was waved.}
start: {description: Standing.}
end: {description: Standing.}
"""


def test_there_is_a_ready_protocol_for_the_tasks_with_an_aim() -> None:
    assert set(protocol_names()) == {
        "bimanual_lift", "handover", "pick_place", "reach", "walk_carry",
    }  # fmt: skip
    assert set(protocol_names()) <= set(tasks())


@pytest.mark.parametrize("name", protocol_names())
def test_a_ready_protocol_says_the_same_after_its_canonical_text(name: str) -> None:
    protocol = open_protocol(name)
    assert protocol.name == protocol.task.name == name
    again = Protocol.parse(protocol.canonical(), suffix=".json")
    assert again == protocol
    assert again.hash == protocol.hash


def test_numbers_left_out_are_those_of_the_specification() -> None:
    protocol = Protocol.parse(SMALL)
    assert (protocol.force_n.lowest, protocol.force_n.highest) == (5, 25)
    assert (protocol.duration_s.lowest, protocol.duration_s.highest) == (5, 60)
    assert (protocol.trigger.pre_roll_s, protocol.trigger.post_roll_s) == (1.0, 2.0)
    assert protocol.operators.minimum_per_variant == 3
    assert protocol.keep_failures


def test_the_pick_and_place_protocol_has_the_numbers_of_the_specification() -> None:
    protocol = open_protocol("pick_place")
    assert protocol.lift_clearance_m == 0.15
    assert protocol.placement_tolerance_m == 0.02
    assert 12.0 in protocol.duration_s
    assert 61.0 not in protocol.duration_s
    assert protocol.approach("top") is not None
    assert protocol.approach("blind") is None


@pytest.mark.parametrize(
    ("addition", "words"),
    [
        ("duration_s: {lowest: 60, highest: 5}", "lowest <= highest"),
        ("approaches: [{name: top}, {name: top}]", "listed twice"),
        ("prohibited: [{behaviour: juggling, limit: 3}]", "not measured"),
        ("durations: {lowest: 1, highest: 2}", "Did you mean 'duration_s'"),
        ("factors: [{name: hand, levels: [left, right], shares: [0.5, 0.4]}]", "sum of 1"),
    ],
)
def test_a_bad_protocol_is_refused_with_the_reason(addition: str, words: str) -> None:
    with pytest.raises(DocumentError, match=words):
        Protocol.parse(SMALL + addition)


def test_a_new_version_can_be_compared_with_the_old_one() -> None:
    old = open_protocol("pick_place")
    new = old.model_copy(update={"version": "1.1.0", "lift_clearance_m": 0.2})
    assert [str(change) for change in changes(old, new)] == [
        "~ version: was 1.0.0, now 1.1.0",
        "~ lift_clearance_m: was 0.15, now 0.2",
    ]


def test_an_unknown_name_lists_the_ready_ones() -> None:
    with pytest.raises(UnknownNameError, match="pick_place"):
        open_protocol("pick_plce")
