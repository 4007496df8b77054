"""Caches what the metadata of episodes says: parsing JSON is what takes the time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine

from corporeal.catalog.query import MetadataField, read_fields

# With more episodes to read than this, reading all of them in a row is quicker.
_MANY = 5000
_MOST_COLUMNS = 64


_THING = "variation.things.0"
USUAL_FIELDS = (
    *(MetadataField(f"{_THING}.{name}") for name in ("colour", "shape")),
    *(MetadataField(f"{_THING}.position.{axis}", "number") for axis in (0, 1)),
    *(MetadataField(f"variation.{name}") for name in ("hand", "approach", "style")),
    *(MetadataField(f"calibration.{end}.position_error_m", "number") for end in ("start", "end")),
    MetadataField("consent", "kind"),
    MetadataField("consent"),
)
"""Read together the first time, since several charts ask for them at once."""


class MetadataCache:
    """Values by episode. The metadata of an episode never changes, so they are read once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._columns: dict[MetadataField, list[Any]] = {}
        self._lock = threading.Lock()

    def of(
        self, connection: Connection, ids: Sequence[str], wanted: Sequence[MetadataField]
    ) -> list[list[Any]]:
        """For everything wanted a list with one value for each episode."""
        with self._lock:
            self._learn(connection, ids, wanted)
            places = [self._places.get(each) for each in ids]
            return [
                [None if place is None else column[place] for place in places]
                for column in (self._columns[each] for each in wanted)
            ]

    def _learn(
        self, connection: Connection, ids: Sequence[str], wanted: Sequence[MetadataField]
    ) -> None:
        asked = dict.fromkeys([*wanted, *(() if self._places else USUAL_FIELDS)])
        new = [each for each in asked if each not in self._columns]
        missing = [each for each in ids if each not in self._places]
        if len(self._columns) + len(new) > _MOST_COLUMNS or len(missing) > _MANY:
            kept = [] if len(self._columns) + len(new) > _MOST_COLUMNS else list(self._columns)
            self._places, self._columns = {}, {}
            new, missing = [*kept, *new], list(ids)
        if new and self._places:
            self._add_columns(connection, new)
        else:
            self._columns |= {each: [] for each in new}
        if missing:
            self._add_rows(connection, missing)

    def _add_columns(self, connection: Connection, new: Sequence[MetadataField]) -> None:
        size = len(self._places)
        made: dict[MetadataField, list[Any]] = {each: [None] * size for each in new}
        for name, *values in _read(connection, new, None):
            place = self._places.get(name)
            if place is not None:
                for column, value in zip(made.values(), values, strict=True):
                    column[place] = value
        self._columns |= made

    def _add_rows(self, connection: Connection, missing: Sequence[str]) -> None:
        columns = list(self._columns)
        every = None if len(missing) > _MANY else missing
        for name, *values in _read(connection, columns, every):
            if name in self._places:
                continue
            self._places[name] = len(self._places)
            for column, value in zip(columns, values, strict=True):
                self._columns[column].append(value)


def _read(
    connection: Connection, columns: Sequence[MetadataField], ids: Sequence[str] | None
) -> Iterator[tuple[Any, ...]]:
    """The id of every episode (or of these) and its values; the same text is held once."""
    same: dict[Any, Any] = {}
    for name, *values in read_fields(connection, "id", *columns, ids=ids):
        yield (name, *(same.setdefault(v, v) if isinstance(v, str) else v for v in values))


_KNOWN: WeakKeyDictionary[Engine, MetadataCache] = WeakKeyDictionary()
_making = threading.Lock()


def find_cache(connection: Connection) -> MetadataCache:
    """The cache of the database behind a connection."""
    with _making:
        return _KNOWN.setdefault(connection.engine, MetadataCache())
