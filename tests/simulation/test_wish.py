"""A run does what a card asks for: the hand, the approach, where the object lies."""

from __future__ import annotations

import pytest

from corporeal.errors import UnknownNameError
from corporeal.simulation.variation import SceneLayout, SceneWish, vary

LAYOUT = SceneLayout(shapes=("box", "cylinder", "ball"))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_asked_for_is_done_whatever_would_be_drawn(seed: int) -> None:
    for hand in ("left", "right"):
        for approach in ("top", "side"):
            made = vary(LAYOUT, seed, wish=SceneWish(hand, approach))
            assert (made.hand, made.approach) == (hand, approach)
            assert (made.things[0].position[1] > 0) == (hand == "left")


def test_the_object_lies_where_it_is_asked_to_and_the_hand_of_its_side_takes_it() -> None:
    for y, hand in ((0.17, "left"), (-0.17, "right")):
        made = vary(LAYOUT, 5, wish=SceneWish(object_xy=(0.33, y), object_yaw_rad=0.1))
        thing = made.things[0]
        assert (thing.position[:2], thing.yaw_rad, made.hand) == ((0.33, y), 0.1, hand)
        assert made.goal[1] * y > 0, "the mark is before the arm that carries"


def test_nothing_asked_for_changes_nothing_and_what_no_task_has_is_named() -> None:
    assert vary(LAYOUT, 3, wish=SceneWish()) == vary(LAYOUT, 3)
    with pytest.raises(UnknownNameError, match="hand of this task"):
        vary(LAYOUT, 3, wish=SceneWish(hand="third"))
    with pytest.raises(UnknownNameError, match="approach of this task"):
        vary(LAYOUT, 3, wish=SceneWish(approach="below"))
