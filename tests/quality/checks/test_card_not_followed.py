"""An episode shows what its card asked for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.quality.demonstrations import demonstration
from tests.quality.ruled import judge, marked

from corporeal.errors import NotAssessed
from corporeal.protocol.coverage import Factor, ObjectPlace

NAME = "card_not_followed"
# The object of the demonstration starts at x 0.35 m, y 0.
PLACES = {
    "near": ObjectPlace(xyz=(0.35, 0.01, 0.75), radius_m=0.03),
    "left": ObjectPlace(xyz=(0.35, 0.20, 0.75), radius_m=0.03),
}
POSE = Factor(name="pose", levels=("near", "left"), places=PLACES)
HAND = Factor(name="hand", levels=("left", "right"), field="variation.hand")
PERSON = Factor(name="operator", levels=("ann", "ben"))


def found(levels: dict[str, str], *factors: Factor, **metadata: Any) -> list[str]:
    card = {"id": "k1", "campaign": "autumn", "levels": levels}
    return [each.message for each in judge(NAME, marked(card=card, **metadata), factors=factors)]


def test_passes_an_object_in_the_place_of_its_level() -> None:
    assert not found({"pose": "near"}, POSE)


def test_finds_an_object_in_another_place_than_the_card_says() -> None:
    (message,) = found({"pose": "left"}, POSE)
    assert message.startswith("the object lies at near, 20 cm from the middle of left")


def test_finds_an_object_beside_every_place() -> None:
    away = {"near": ObjectPlace(xyz=(0.25, 0.0, 0.75), radius_m=0.02)}
    (message,) = found({"pose": "near"}, Factor(name="pose", levels=("near",), places=away))
    assert "lies beside it, 10 cm from the middle of near" in message


def test_finds_a_level_that_the_simulation_knows_to_be_another() -> None:
    (message,) = found({"hand": "left"}, HAND, variation={"hand": "right", "seed": 3})
    assert message == "hand is right; the card asked for left"
    assert not found({"hand": "right"}, HAND, variation={"hand": "right", "seed": 3})


def test_finds_another_operator_than_the_card_was_made_for() -> None:
    (message,) = found({"operator": "ann"}, PERSON, operator="ben")
    assert message == "operator is ben; the card asked for ann"


def test_what_the_card_itself_put_there_proves_nothing() -> None:
    with pytest.raises(NotAssessed, match="nothing but the card"):
        found({"hand": "left"}, HAND, variation={"hand": "left"})


def test_without_a_card_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="followed no card"):
        list(judge(NAME, marked(demonstration()), factors=(POSE,)))


def test_nonsense_in_the_metadata_does_no_harm() -> None:
    for card in ("near", {"levels": [1]}, {"levels": None}):
        with pytest.raises(NotAssessed):
            list(judge(NAME, marked(card=card), factors=(POSE,)))
