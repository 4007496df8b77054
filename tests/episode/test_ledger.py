"""The ledger of a source says what became of each item, over any number of episodes."""

from __future__ import annotations

import json

from corporeal.episode.recording import Ledger, SourceItem, left_out

TAKEN = SourceItem("observation.state", "column", 100, ("observations/state",))
MISSING = left_out("wrist", "camera", "movie missing: videos/wrist is not here", lost=True)
INDEX = left_out("frame_index", "column", "the number of the row", samples=100)


def test_only_what_nothing_else_says_is_lost() -> None:
    ledger = Ledger((TAKEN, MISSING, INDEX))
    assert ledger.not_taken == (MISSING, INDEX)
    assert ledger.lost_whole == (MISSING,)


def test_an_item_is_counted_over_all_episodes_and_once_in_the_sum() -> None:
    ledger = Ledger((TAKEN, INDEX)) + Ledger((INDEX, TAKEN)) + Ledger((TAKEN,))
    assert [item.name for item in ledger.items] == ["observation.state", "frame_index"]
    state, index = ledger.items
    assert (state.samples, state.episodes, state.lacking) == (300, 3, 0)
    assert (index.samples, index.episodes, index.lacking) == (200, 2, 2)
    assert state.taken_as == ("observations/state",)


def test_a_camera_that_some_episodes_have_is_lacking_but_not_lost_whole() -> None:
    filmed = SourceItem("wrist", "camera", 50, ("observations/wrist",))
    (camera,) = (Ledger((filmed,)) + Ledger((MISSING,))).items
    assert (camera.samples, camera.episodes, camera.lacking) == (50, 2, 1)
    assert camera.reason == MISSING.reason
    both = Ledger((camera,))
    assert both.not_taken == (camera,)
    assert both.lost_whole == ()


def test_a_column_and_a_camera_of_one_name_are_two_items() -> None:
    column = SourceItem("wrist", "column", 1, ("observations/wrist",))
    assert len((Ledger((column,)) + Ledger((MISSING,))).items) == 2


def test_a_ledger_is_the_same_after_a_way_through_json() -> None:
    ledger = Ledger((TAKEN, MISSING, INDEX))
    assert Ledger.from_json(json.loads(json.dumps(ledger.to_json()))) == ledger
