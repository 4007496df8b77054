"""Bags of robot messages: ROS 1 files, MCAP files, sqlite files and the folders of ROS 2."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from corporeal.capture.driver import DriverError
from corporeal.files import refuse_pointer

MAX_MESSAGE_BYTES = 256 << 20
_MAX_METADATA_BYTES = 16 << 20
_ZSTD = b"\x28\xb5\x2f\xfd"
SUFFIXES = (".bag", ".mcap", ".db3")


@dataclass(frozen=True, slots=True)
class BagChannel:
    """Where messages come from: topic, type, and the definition as the file states it.

    The definition is text, or for protobuf the bytes of a FileDescriptorSet. `is_latched`: the
    last message is handed to whoever comes late (transient_local), so that it is said once.
    """

    topic: str
    type: str
    definition: str | bytes
    language: str
    encoding: str
    is_latched: bool = False


@dataclass(frozen=True, slots=True)
class BagRecord:
    """One message as it lies in the bag; `log_ns` is when the bag's writer received it."""

    channel: BagChannel
    log_ns: int
    data: bytes


@dataclass(frozen=True)
class Bag:
    """The files of a bag in order, and what was found wrong before any message was read."""

    path: Path
    parts: tuple[Path, ...]
    problems: tuple[str, ...] = ()
    stated_count: int | None = None


def is_bag(path: Path) -> bool:
    """True for a file with a bag's ending and for a folder that holds such files."""
    if path.is_dir():
        return any(entry.suffix in SUFFIXES for entry in path.iterdir())
    return path.suffix in SUFFIXES


def open_bag(path: Path | str) -> Bag:
    """Look at a bag without reading its messages; DriverError when it is none."""
    path = Path(path)
    if path.is_dir():
        return _open_folder(path)
    if not path.is_file():
        raise DriverError(f"bag, got {str(path)!r}; expected a file or folder. Check the path.")
    if path.suffix not in SUFFIXES:
        raise DriverError(
            f"bag, got {path.name!r}; expected a name ending in {', '.join(SUFFIXES)}, "
            "or the folder of a ROS 2 bag. Check the path."
        )
    return Bag(path, (path,))


def _open_folder(path: Path) -> Bag:
    found = sorted(entry for entry in path.iterdir() if entry.suffix in (".mcap", ".db3"))
    stated = _metadata(path / "metadata.yaml")
    if stated is None:
        if not found:
            raise DriverError(
                f"bag, got the folder {str(path)!r}; expected files ending in .mcap or .db3. "
                "Give the folder that ros2 bag record made."
            )
        return Bag(path, tuple(found), ("The bag has no metadata.yaml: its files are read by "
                                        "name, and missing ones cannot be noticed.",))  # fmt: skip
    names = [PurePosixPath(str(name)).name for name in stated.get("relative_file_paths") or []]
    parts = [path / name for name in names if (path / name).is_file()]
    if not parts:
        raise DriverError(
            f"bag, got {str(path)!r}, of whose {len(names)} files none is here; expected at least "
            "one. Copy them beside metadata.yaml."
        )
    problems = _missing(names, parts, stated)
    extra = [entry.name for entry in found if entry.name not in names]
    if extra:
        problems.append(f"Files that metadata.yaml does not name are not read: {', '.join(extra)}.")
    if str(stated.get("compression_mode", "")).lower() == "file":
        raise DriverError(
            f"bag, got {str(path)!r}, whose files are compressed as a whole; expected plain ones. "
            "Unpack them with: zstd -d."
        )
    count = stated.get("message_count")
    return Bag(path, tuple(parts), tuple(problems), count if isinstance(count, int) else None)


def _metadata(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    if path.stat().st_size > _MAX_METADATA_BYTES:
        raise DriverError(f"{path}: more than {_MAX_METADATA_BYTES} bytes; expected a short list.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise DriverError(f"{path}: not valid YAML ({first}). Remove it to read by name.") from None
    stated = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    if not isinstance(stated, dict):
        raise DriverError(f"{path}: got no rosbag2_bagfile_information. Remove it to read by name.")
    return stated


def _missing(names: list[str], parts: list[Path], stated: dict[str, Any]) -> list[str]:
    here = {part.name for part in parts}
    absent = [name for name in names if name not in here]
    if not absent:
        return []
    counts = {
        PurePosixPath(str(entry.get("path"))).name: entry.get("message_count")
        for entry in stated.get("files") or []
        if isinstance(entry, dict)
    }
    known = [counts.get(name) for name in absent]
    sizes = [count for count in known if isinstance(count, int)]
    held = f" with {sum(sizes)} messages" if len(sizes) == len(absent) else ""
    listed = absent[0] if len(absent) == 1 else f"{absent[0]} to {absent[-1]}"
    return [
        f"{len(absent)} of {len(names)} files that metadata.yaml names are missing{held}: {listed}."
    ]


def records(bag: Bag, problems: list[str]) -> Iterator[BagRecord]:
    """Every message in the order of its file; what is found wrong on the way joins `problems`.

    A body that is itself packed with zstd, which only metadata.yaml would say, is unpacked.
    """
    packed: Counter[str] = Counter()
    count = 0
    readers = {".bag": _read_ros1, ".mcap": _read_mcap, ".db3": _read_sqlite}
    for part in bag.parts:
        refuse_pointer(part)
        for record in readers[part.suffix](part, problems):
            count += 1
            # No CDR message starts so: its first byte is 0.
            if record.channel.encoding == "cdr" and record.data[:4] == _ZSTD:
                packed[record.channel.topic] += 1
                record = BagRecord(record.channel, record.log_ns, _unpack(record.data))
            yield record
    for topic, number in sorted(packed.items()):
        problems.append(
            f"Topic {topic}: {number} message bodies are packed with zstd, which the file itself "
            "does not say; they were unpacked."
        )
    if bag.stated_count is not None and bag.stated_count != count:
        problems.append(f"metadata.yaml states {bag.stated_count} messages; {count} were read.")


def _unpack(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    try:
        return zstd.ZstdDecompressor().decompress(data, MAX_MESSAGE_BYTES)
    except zstd.ZstdError:
        # Handed on as it is: its topic then counts it among those it cannot read.
        return data


def _read_ros1(path: Path, problems: list[str]) -> Iterator[BagRecord]:
    from rosbags.rosbag1 import Reader, ReaderError

    count = 0
    try:
        with Reader(path) as reader:
            channels = {
                connection.id: BagChannel(
                    connection.topic,
                    connection.msgtype,
                    connection.msgdef.data,
                    "ros1msg",
                    "ros1",
                    is_latched=bool(getattr(connection.ext, "latching", 0)),
                )
                for connection in reader.connections
            }
            for connection, log_ns, data in reader.messages():
                count += 1
                yield BagRecord(channels[connection.id], log_ns, bytes(data))
    except (ReaderError, ValueError, KeyError, AssertionError, EOFError) as error:
        problems.append(_broken(path, "a ROS 1 bag", count, error, "Repair it: rosbag reindex."))


def _broken(path: Path, what: str, count: int, error: Exception, advice: str) -> str:
    """The sentence for a file that breaks off; DriverError for one that never began."""
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    if not count:
        raise DriverError(f"{path}: cannot be read as {what}: {reason}. {advice}") from None
    return f"{path.name} breaks off after {count} messages ({reason})."


def _read_mcap(path: Path, problems: list[str]) -> Iterator[BagRecord]:
    from mcap.exceptions import McapError
    from mcap.reader import NonSeekingReader, SeekingReader

    with path.open("rb") as file:
        try:
            summary = SeekingReader(file, record_size_limit=MAX_MESSAGE_BYTES).get_summary()
        except (McapError, OSError, ValueError):
            summary = None
        if summary is None or not summary.chunk_indexes:
            problems.append(f"{path.name} has no usable index: it is read from front to back.")
        elif summary.statistics is None:
            problems.append(f"{path.name} has no statistics record: messages had to be counted.")
        file.seek(0)
        if summary is not None and summary.chunk_indexes:
            messages = SeekingReader(file, record_size_limit=MAX_MESSAGE_BYTES).iter_messages()
        else:
            reader = NonSeekingReader(file, record_size_limit=MAX_MESSAGE_BYTES)
            messages = reader.iter_messages(log_time_order=False)
        count = 0
        channels: dict[int, BagChannel] = {}
        try:
            for schema, channel, message in messages:
                count += 1
                if channel.id not in channels:
                    channels[channel.id] = _mcap_channel(schema, channel)
                yield BagRecord(channels[channel.id], message.log_time, message.data)
        except (McapError, ValueError, RuntimeError, EOFError) as error:
            problems.append(_broken(path, "MCAP", count, error, "Repair it: mcap recover."))


def _mcap_channel(schema: Any, channel: Any) -> BagChannel:
    if schema is None:
        return BagChannel(channel.topic, "", "", "", channel.message_encoding)
    is_text = schema.encoding not in ("protobuf", "flatbuffer")
    definition = schema.data.decode("utf-8", "replace") if is_text else bytes(schema.data)
    stated: Mapping[str, str] = channel.metadata
    return BagChannel(
        channel.topic, schema.name, definition, schema.encoding, channel.message_encoding,
        is_latched=_says_latched(stated.get("offered_qos_profiles")),
    )  # fmt: skip


def _says_latched(profiles: Any) -> bool:
    """Whether all publishers hand their last message to latecomers; ROS wrote 1 for it once."""
    try:
        listed = yaml.safe_load(profiles) if isinstance(profiles, str) else profiles
    except yaml.YAMLError:
        return False
    if not isinstance(listed, list) or not listed:
        return False
    said = [entry.get("durability") for entry in listed if isinstance(entry, dict)]
    return len(said) == len(listed) and all(
        word in (1, "1") or str(word).lower() == "transient_local" for word in said
    )


def _read_sqlite(path: Path, problems: list[str]) -> Iterator[BagRecord]:
    # Immutable: the file may lie where nothing can be written beside it.
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    database = sqlite3.connect(address, uri=True)
    count = 0
    try:
        channels = _sqlite_channels(database)
        rows = database.execute(
            "SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id"
        )
        for topic, log_ns, data in rows:
            count += 1
            yield BagRecord(channels[topic], int(log_ns), bytes(data))
    except (sqlite3.Error, KeyError, TypeError) as error:
        advice = "Rebuild it: ros2 bag reindex."
        problems.append(_broken(path, "a ROS 2 sqlite bag", count, error, advice))
    finally:
        database.close()


def _sqlite_channels(database: sqlite3.Connection) -> dict[int, BagChannel]:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    definitions: dict[str, tuple[str, str]] = {}
    if "message_definitions" in tables:
        rows = database.execute(
            "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
        )
        definitions = {kind: (text, language) for kind, language, text in rows}
    known = {row[1] for row in database.execute("PRAGMA table_info(topics)")}
    profiles = "offered_qos_profiles" if "offered_qos_profiles" in known else "NULL"
    topics = database.execute(
        f"SELECT id, name, type, serialization_format, {profiles} FROM topics"
    )
    return {
        number: BagChannel(name, kind, *definitions.get(kind, ("", "")), encoding,
                           is_latched=_says_latched(offered))
        for number, name, kind, encoding, offered in topics
    }  # fmt: skip
