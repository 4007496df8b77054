"""Answers about the catalogue that took a while, good until something happens in it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection

from corporeal.catalog.audit import head
from corporeal.catalog.database import Database

_KEEP_S = 30.0
_MOST_KEPT = 200

T = TypeVar("T")


class KeptAnswers(Generic[T]):
    """The last answers of each database, good while its audit log does not grow.

    And for half a minute at most: some answers tell of "the last days".
    """

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Database, OrderedDict[Hashable, tuple[int, float, T]]]
        self._of = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self, database: Database, key: Hashable, make: Callable[[Connection], T]) -> T:
        """The answer to a question; made where none of this catalogue is at hand."""
        with database.read() as connection:
            number = head(connection).number
            with self._lock:
                found = self._of.setdefault(database, OrderedDict()).get(key)
            if found and found[0] == number and time.monotonic() - found[1] <= _KEEP_S:
                return found[2]
            made = make(connection)
        with self._lock:
            kept = self._of.setdefault(database, OrderedDict())
            kept[key] = (number, time.monotonic(), made)
            kept.move_to_end(key)
            while len(kept) > _MOST_KEPT:
                kept.popitem(last=False)
        return made
