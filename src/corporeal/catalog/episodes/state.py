"""The states of an episode, and which may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from corporeal.catalog.database import CatalogError

State = Literal[
    "recorded", "checked", "accepted", "quarantined", "failed", "annotated", "released", "erased"
]
STATES: tuple[State, ...] = get_args(State)
_JUDGED: tuple[State, ...] = ("accepted", "quarantined", "failed")
NEXT: Mapping[State, tuple[State, ...]] = {
    "recorded": ("checked", *_JUDGED, "erased"),
    "checked": (*_JUDGED, "erased"),
    # A person may overrule a verdict, with a reason.
    "accepted": ("checked", "quarantined", "failed", "annotated", "released", "erased"),
    "quarantined": ("checked", "accepted", "failed", "erased"),
    # Failures are released as negative examples.
    "failed": ("checked", "accepted", "quarantined", "annotated", "released", "erased"),
    "annotated": ("accepted", "quarantined", "failed", "released", "erased"),
    "released": ("annotated", "erased"),
    "erased": (),
}


def check_change(old: State, new: State) -> None:
    """Raise CatalogError for a change that makes no sense, such as bringing back what is erased."""
    if new not in NEXT[old]:
        allowed = ", ".join(NEXT[old]) or "nothing"
        raise CatalogError(f"state, got {new} after {old}; expected {allowed}.")
