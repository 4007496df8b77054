"""Factors as a protocol states them, and the table of what was collected."""

from __future__ import annotations

from typing import Any

import pytest

from corporeal.errors import DocumentError
from corporeal.protocol import Protocol, open_protocol, protocol_names
from corporeal.protocol.coverage import ContinuousFactor, Factor, coverage

HAND = Factor(name="hand", levels=("left", "right"))
LIGHT = Factor(name="light", levels=("day", "lamp", "dusk"), shares=(0.5, 0.3, 0.2))
TEXT = """
document: protocol
name: shelf
version: 1.0.0
task: {name: shelf, goal: It stands there.}
start: {description: Standing.}
end: {description: Done.}
factors:
  - {name: cup, levels: [red, glass]}
  - {name: light, levels: [day, dusk]}
"""


def test_the_table_counts_every_level_against_its_plan() -> None:
    episodes = [{"hand": "left", "light": "day"}] * 6 + [{"hand": "right", "light": "lamp"}] * 4
    table = {(cell.factor, cell.level): (cell.count, cell.planned) for cell in
             coverage((HAND, LIGHT), episodes)}  # fmt: skip
    assert table["hand", "left"] == (6, 5.0)
    assert table["light", "dusk"] == (0, 2.0)


def test_levels_are_read_where_the_document_says_or_from_the_variation() -> None:
    assert HAND.level_of({"variation": {"hand": "left"}}) == "left"
    placed = Factor(name="colour", levels=("red",), field="object.colour")
    assert placed.level_of({"object": {"colour": "red"}}) == "red"
    assert placed.level_of({"object": "red"}) is None


def test_numbers_of_a_continuous_factor_are_read_by_its_axes() -> None:
    where = ContinuousFactor(name="where", axes={"x_m": (0.2, 0.4), "y_m": (-0.2, 0.2)})
    assert where.values_of({"where": {"x_m": 0.3, "y_m": 0}}) == (0.3, 0.0)
    assert where.values_of({"where": {"x_m": 0.3}}) is None
    assert where.values_of({"where": "near"}) is None


def test_protocols_that_were_written_before_say_nothing_of_designs() -> None:
    for name in protocol_names():
        text = open_protocol(name).canonical()
        for field in ("design", "continuous", "at_least", "places", "change_min"):
            assert f'"{field}"' not in text, f"{name} says {field}"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("design: {forbidden: [{cup: red}]}", "expected two factors or more"),
        ("design: {forbidden: [{cup: red, moon: full}]}", "names the factor 'moon'"),
        ("design: {forbidden: [{cup: blue, light: day}]}", "expected one of: red, glass"),
        ("design: {required: [{levels: {light: noon}}]}", "expected one of: day, dusk"),
        ("continuous: [{name: cup, axes: {x_m: [0, 1]}}]", "has levels and axes"),
        ("continuous: [{name: far, axes: {x_m: [1, 0]}}]", "expected lowest < highest"),
        ("continuous: [{name: at, axes: {z_m: [0, 1]}, places_object: true}]", "x_m and y_m"),
    ],
)
def test_a_rule_about_what_no_factor_has_is_refused_in_words(more: str, words: str) -> None:
    with pytest.raises(DocumentError, match=words):
        Protocol.parse(TEXT + more)


@pytest.mark.parametrize("what", ["at_least", "at_most"])
def test_a_quota_of_an_unknown_level_is_refused(what: str) -> None:
    quota: dict[str, Any] = {what: {"middle": 3}}
    with pytest.raises(ValueError, match="names the level 'middle'; expected one of: left, right"):
        Factor(name="hand", levels=("left", "right"), **quota)
