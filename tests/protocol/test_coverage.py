"""Coverage by design: the table fills as planned."""

from __future__ import annotations

from collections import Counter

from corporeal.protocol.coverage import Factor, coverage, propose

HAND = Factor(name="hand", levels=("left", "right"))
LIGHT = Factor(name="light", levels=("day", "lamp", "dusk"), shares=(0.5, 0.3, 0.2))


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


def test_what_is_proposed_brings_every_level_to_its_plan() -> None:
    begun = [{"hand": "left", "light": "day"}] * 5
    proposed = propose((HAND, LIGHT), begun, 35)
    everything = [*begun, *proposed]
    hands = Counter(each["hand"] for each in everything)
    lights = Counter(each["light"] for each in everything)
    assert hands == {"left": 20, "right": 20}
    assert abs(lights["day"] - 20) <= 1
    assert abs(lights["lamp"] - 12) <= 1


def test_every_combination_is_met() -> None:
    proposed = propose((HAND, LIGHT), [], 30)
    assert len({(each["hand"], each["light"]) for each in proposed}) == 6
