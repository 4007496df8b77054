"""The sqlite files of ROS 2: only plain tables of theirs are read, within bounds and in time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corporeal.capture.ros.bag_record import (
    BagChannel,
    BagRecord,
    check_stamp,
    describe_break,
    says_latched,
)
from corporeal.capture.ros.unpacking import MAX_UNPACKED_BYTES

# One step of a query: a sort of a file without index reads all of it before the first row.
_STEP_S = 20.0
_BYTES_PER_S = 10e6
_OPERATIONS = 10_000
_MAX_TEXT = 1 << 20
_MAX_TOPICS = 1 << 16
# No row takes less: a tree of pages that points at one of them again and again has more.
_ROW_BYTES = 4
_COLUMNS = {
    "messages": {"id", "topic_id", "timestamp", "data"},
    "topics": {"id", "name", "type", "serialization_format"},
}
_UNREADABLE = (sqlite3.Error, LookupError, TypeError, ValueError, OverflowError, MemoryError)
_GOOD = (
    "typeof(topic_id) = 'integer' AND typeof(timestamp) = 'integer' AND typeof(data) = 'blob' "
    f"AND length(data) <= {MAX_UNPACKED_BYTES}"
)


@dataclass
class _Clock:
    """Ends a query whose next row takes longer than the size of its file explains."""

    limit_s: float
    began_s: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        self.began_s = time.monotonic()

    def is_late(self) -> bool:
        return time.monotonic() - self.began_s > self.limit_s


def read_sqlite(path: Path, problems: list[str]) -> Iterator[BagRecord]:
    """Every message in order of time; what is wrong on the way joins `problems`."""
    size = path.stat().st_size
    clock = _Clock(_STEP_S + size / _BYTES_PER_S)
    count = total = 0
    # Immutable: the file may lie where nothing can be written beside it.
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            _restrict(database, clock)
            channels = _read_channels(database)
            _tell_odd_rows(database, path, problems)
            clock.begin()
            for topic, log_ns, data in database.execute(
                f"SELECT topic_id, timestamp, data FROM messages WHERE {_GOOD} "  # nosec B608
                "ORDER BY timestamp, id"
            ):
                total += len(data)
                if total > size or _ROW_BYTES * count > size:
                    raise ValueError("its rows repeat: they have more bytes than the file")
                record = BagRecord(channels[topic], check_stamp(log_ns), data)
                count += 1
                yield record
                clock.begin()
    except _UNREADABLE as error:
        advice = "Rebuild it: ros2 bag reindex."
        problems.append(describe_break(path, "a ROS 2 sqlite bag", count, error, advice))


def _restrict(database: sqlite3.Connection, clock: _Clock) -> None:
    """Nothing that the file itself defines is run, and no value of it is larger than a message."""
    database.set_progress_handler(clock.is_late, _OPERATIONS)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_UNPACKED_BYTES + _MAX_TEXT)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        database.execute(f"PRAGMA {setting}")
    database.text_factory = _decode_text
    kinds = {
        name: kind
        for name, kind, page in database.execute("SELECT name, type, rootpage FROM sqlite_master")
        if kind != "table" or page
    }
    for table, wanted in _COLUMNS.items():
        if kinds.get(table) != "table":
            raise ValueError(f"it has no table {table!r}")
        columns = _columns_of(database, table)
        if not wanted <= columns:
            raise ValueError(f"its table {table!r} has no {min(wanted - columns)!r}")


def _decode_text(raw: bytes) -> str:
    return raw[:_MAX_TEXT].decode("utf-8", "replace")


def _columns_of(database: sqlite3.Connection, table: str) -> set[str]:
    """Names of the columns of a table; ValueError where one is computed instead of stored."""
    rows = database.execute(f"PRAGMA table_xinfo({table})").fetchall()
    if any(row[6] for row in rows):
        raise ValueError(f"its table {table!r} has columns that are computed")
    return {str(row[1]) for row in rows}


def _tell_odd_rows(database: sqlite3.Connection, path: Path, problems: list[str]) -> None:
    query = f"SELECT count(*) FROM messages WHERE NOT ({_GOOD})"  # nosec B608
    (count,) = database.execute(query).fetchone()
    if count:
        problems.append(
            f"{path.name}: {count} messages are left out whose time is no whole number or whose "
            "data are no bytes."
        )


def _read_channels(database: sqlite3.Connection) -> dict[int, BagChannel]:
    definitions = _read_definitions(database)
    columns = _columns_of(database, "topics")
    profiles = "offered_qos_profiles" if "offered_qos_profiles" in columns else "NULL"
    topics = database.execute(
        f"SELECT id, name, type, serialization_format, {profiles} "  # nosec B608
        f"FROM topics LIMIT {_MAX_TOPICS}"
    )
    channels = {}
    for number, *texts, offered in topics:
        name, kind, encoding = (_require_text(text) for text in texts)
        text, language = definitions.get(kind, ("", ""))
        channels[number] = BagChannel(
            name, kind, text, language, encoding, is_latched=says_latched(offered)
        )
    return channels


def _read_definitions(database: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Text and language of every type of message, where the file has them."""
    kind = database.execute(
        "SELECT type FROM sqlite_master WHERE name = 'message_definitions' AND rootpage"
    ).fetchone()
    if kind != ("table",):
        return {}
    _columns_of(database, "message_definitions")
    rows = database.execute(
        "SELECT topic_type, encoding, encoded_message_definition "  # nosec B608
        "FROM message_definitions "
        f"LIMIT {_MAX_TOPICS}"
    )
    return {
        topic_type: (text, language)
        for topic_type, language, text in rows
        if all(isinstance(value, str) for value in (topic_type, language, text))
    }


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a topic has {type(value).__name__} where a text belongs")
    return value
