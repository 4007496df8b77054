"""What pages show of single operators: hidden where the workspace says so, logged where not."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from corporeal.catalog.database import Database
from corporeal.catalog.people import note_view
from corporeal.catalog.permission import Actor, sees_person
from corporeal.studio.context import Studio

LOGGED_EVERY_S = 3600.0
"""A page asks again and again: one look is one event of the audit log in so long."""
_MOST_LOOKS = 10_000
_LOCK = threading.Lock()
_SEEN: WeakKeyDictionary[Database, dict[tuple[str, str, str | None], float]] = WeakKeyDictionary()
_Row = TypeVar("_Row", bound=BaseModel)


def log_view(studio: Studio, actor: Actor, *, what: str, operator: str | None) -> None:
    """Log that somebody sees figures of an operator, or of all; the same look once an hour."""
    now, key = time.monotonic(), (actor.name, what, operator)
    with _LOCK:
        looks = _SEEN.setdefault(studio.workspace.database, {})
        if now - looks.get(key, -LOGGED_EVERY_S) < LOGGED_EVERY_S:
            return
        if len(looks) >= _MOST_LOOKS:
            looks.clear()
        looks[key] = now
    with studio.workspace.database.write() as connection:
        note_view(connection, actor, what=what, operator=operator)


def without_people(actor: Actor, rows: Sequence[_Row]) -> list[_Row]:
    """Rows side by side without the operators that are not shown to whoever asks."""
    return [
        row if sees_person(actor, getattr(row, "operator", None))
        else row.model_copy(update={"operator": None})
        for row in rows
    ]  # fmt: skip
