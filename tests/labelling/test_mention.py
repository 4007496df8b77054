"""Objects and hands are found in what operators were told."""

from __future__ import annotations

import pytest

from corporeal.labelling.mention import mentioned_hand, mentioned_object
from corporeal.labelling.taxonomy import ObjectIdentity, open_taxonomy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pick up the yellow bottle on the table.", "yellow bottle"),
        ("pick the squash from the counter and place it in the plate", "squash"),
        ("Grab a cup with the left hand", "cup"),
        ("put banana into the bowl", "banana"),
        ("pick it up, then move the red box to the shelf", "red box"),
        ("pick up with both hands", None),
        ("pick_place", None),
        ("walk to the door", None),
        ("", None),
    ],
)
def test_an_object_is_what_follows_the_verb_of_a_task(text: str, expected: str | None) -> None:
    assert mentioned_object([text], open_taxonomy("manipulation")) == expected


def test_a_taxonomy_that_lists_objects_is_asked_alone() -> None:
    objects = (
        ObjectIdentity(name="ball", description="any ball"),
        ObjectIdentity(name="yellow_ball", description="ours", aliases=("the tennis ball",)),
    )
    taxonomy = open_taxonomy("manipulation").model_copy(update={"objects": objects})
    assert mentioned_object(["take the yellow ball"], taxonomy) == "yellow_ball"
    assert mentioned_object(["take the tennis ball away"], taxonomy) == "yellow_ball"
    assert mentioned_object(["take the cup", "and the ball"], taxonomy) == "ball"
    assert mentioned_object(["take the cup"], taxonomy) is None


def test_a_hand_is_the_one_that_is_told_to_act() -> None:
    assert mentioned_hand(["Grab a cup with the left hand"]) == "left"
    assert mentioned_hand(["use your right arm"]) == "right"
    assert mentioned_hand(["from the left hand to the right hand"]) == "both"
    assert mentioned_hand(["lift it with two hands"]) == "both"
    assert mentioned_hand(["turn left at the door", "pick it up"]) is None
