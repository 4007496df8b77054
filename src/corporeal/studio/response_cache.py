"""Answers about the catalogue that took a while, good until something happens in it."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection

from corporeal.catalog.audit import head
from corporeal.catalog.database import Database
from corporeal.catalog.query import read_fields
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError
from corporeal.operations.coverage import USUAL_FIELDS, find_cache
from corporeal.operations.question import charts

_KEEP_S = 30.0
_MOST_KEPT = 200

T = TypeVar("T")


class ResponseCache(Generic[T]):
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


# Whoever starts Studio looks at an episode or the list first: they do not share with this.
_LATER_S = 4.0
_LOT = 2000


@contextmanager
def warming(workspace: Workspace) -> Iterator[None]:
    """Prepare the dashboards a few seconds later, in a thread that ends with the block at most."""
    is_over = threading.Event()

    def work() -> None:
        if is_over.wait(_LATER_S):
            return
        try:
            warm(workspace, is_over)
        except (CorporealError, OSError) as error:
            # Whoever asks for a chart is told; until then nobody needs to know.
            logging.getLogger(__name__).info("dashboards were not prepared: %s", error)

    thread = threading.Thread(target=work, name="studio-warming", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def warm(workspace: Workspace, is_over: threading.Event) -> None:
    """Load the charts, and read once what they want of the metadata of all episodes."""
    charts()
    with workspace.database.read() as connection:
        ids = [name for (name,) in read_fields(connection, "id")]
        notes = find_cache(connection)
        # In lots: charts that are asked for meanwhile, and the end, wait for one of them only.
        for first in range(0, len(ids), _LOT):
            if is_over.is_set():
                return
            notes.of(connection, ids[first : first + _LOT], USUAL_FIELDS)
