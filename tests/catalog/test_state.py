"""States follow one another as they should."""

from __future__ import annotations

import pytest

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import NEXT, State, check_change
from corporeal.catalog.episodes.rows import STATES


def test_every_state_has_its_followers_and_none_follows_itself() -> None:
    assert set(NEXT) == set(STATES)
    for state, after in NEXT.items():
        assert set(after) <= set(STATES) - {state}


@pytest.mark.parametrize("state", STATES)
def test_everything_can_be_erased_and_nothing_comes_back(state: State) -> None:
    if state == "erased":
        assert NEXT[state] == ()
    else:
        check_change(state, "erased")
        with pytest.raises(CatalogError, match="expected nothing"):
            check_change("erased", state)


def test_only_what_was_judged_is_released() -> None:
    before = {state for state, after in NEXT.items() if "released" in after}
    assert before == {"accepted", "failed", "annotated"}


def test_every_state_can_be_reached() -> None:
    reached: set[State] = {"recorded"}
    for _ in STATES:
        reached |= {after for state in reached for after in NEXT[state]}
    assert reached == set(STATES)


def test_a_wrong_change_names_the_right_ones() -> None:
    with pytest.raises(CatalogError, match="got released after recorded; expected checked, acc"):
        check_change("recorded", "released")
