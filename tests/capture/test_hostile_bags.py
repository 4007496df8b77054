"""A bag of a few kilobytes takes neither all memory nor all time, and is answered in a sentence."""

from __future__ import annotations

import bz2
import sqlite3
import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from corporeal.capture.driver import DriverError
from corporeal.capture.ros import unpacking
from corporeal.capture.ros.bag import open_bag, records
from corporeal.capture.ros.unpacking import UnpackingError, unpack

LIMIT = 1 << 20
ZEROS = bytes(16 * LIMIT)
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "bz2": bz2.compress,
    "lz4": lz4.frame.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
TOPICS = (
    "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)"
)
MESSAGES = (
    "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)"
)
TOPIC = "INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String', 'cdr')"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


def _read(path: Path) -> tuple[int, list[str]]:
    problems: list[str] = []
    return len(list(records(open_bag(path), problems))), problems


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_chunk_is_unpacked_as_far_as_its_bound(packing: str) -> None:
    packed = PACKINGS[packing](ZEROS)
    assert unpack(packed, packing) == ZEROS
    with pytest.raises(UnpackingError, match="more than the 1048576 bytes"):
        unpack(packed, packing, LIMIT)
    with pytest.raises(UnpackingError, match="not known"):
        unpack(packed, "rar")


def test_a_chunk_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    for packing in ("bz2", "lz4"):
        packed = PACKINGS[packing](ZEROS)
        with pytest.raises(UnpackingError, match="cannot be unpacked"):
            unpack(packed[: len(packed) // 2], packing, len(ZEROS))
    packed = PACKINGS["zstd"](ZEROS)
    path = _mcap(tmp_path / "a.mcap", packed[: len(packed) // 2], len(ZEROS), b"zstd")
    with pytest.raises(DriverError, match="a chunk unpacks to"):
        _read(path)


def test_chunks_of_one_file_have_a_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "_FREE_BYTES", 3 * len(ZEROS))
    packed = bz2.compress(ZEROS)
    budget = unpacking.UnpackingBudget(len(packed))
    for _ in range(3):
        budget.unpack(packed, "bz2")
    with pytest.raises(UnpackingError, match="altogether"):
        budget.unpack(packed, "bz2")


def _mcap(path: Path, packed: bytes, claimed: int, packing: bytes) -> Path:
    chunk = struct.pack("<QQQII", 0, 1, claimed, 0, len(packing)) + packing
    chunk += struct.pack("<Q", len(packed)) + packed
    path.write_bytes(b"\x89MCAP0\r\n" + struct.pack("<BQ", 6, len(chunk)) + chunk)
    return path


@pytest.mark.parametrize("packing", ["zstd", "lz4"])
@pytest.mark.parametrize("claimed", [10, 1 << 32, 16 * LIMIT])
def test_an_mcap_chunk_that_claims_another_size_is_refused(
    tmp_path: Path, packing: str, claimed: int
) -> None:
    path = _mcap(tmp_path / "a.mcap", PACKINGS[packing](ZEROS), claimed, packing.encode())
    with pytest.raises(DriverError, match=r"a\.mcap: cannot be read as MCAP: (a chunk|a record)"):
        _read(path)


def _ros1(path: Path, chunk: bytes, packing: str, *, infos: int = 1) -> Path:
    """A bag of one chunk with one connection, whose index has one entry."""

    def header(**fields: bytes) -> bytes:
        parts = [f"{name}=".encode() + value for name, value in fields.items()]
        body = b"".join(struct.pack("<I", len(part)) + part for part in parts)
        return struct.pack("<I", len(body)) + body

    number, one = struct.pack("<I", 0), struct.pack("<I", 1)
    facts = header(topic=b"/a", type=b"std_msgs/String", md5sum=b"*", message_definition=b"")
    connection = header(op=b"\x07", conn=number, topic=b"/a") + facts
    begin = b"#ROSBAG V2.0\n"
    head_size = len(header(op=b"\x03", index_pos=bytes(8), conn_count=one, chunk_count=one)) + 4
    start = len(begin) + head_size
    body = header(op=b"\x05", compression=packing.encode(), size=struct.pack("<I", 64))
    body += struct.pack("<I", len(chunk)) + chunk
    body += header(op=b"\x04", ver=one, conn=number, count=one)
    body += struct.pack("<I", 12) + struct.pack("<III", 1, 0, 0)
    info = header(op=b"\x06", ver=one, chunk_pos=struct.pack("<Q", start), count=one,
                  start_time=bytes(8), end_time=bytes(8))  # fmt: skip
    info += struct.pack("<I", 8) + number + one
    head = header(op=b"\x03", index_pos=struct.pack("<Q", start + len(body)), conn_count=one,
                  chunk_count=struct.pack("<I", infos))  # fmt: skip
    path.write_bytes(begin + head + bytes(4) + body + connection + infos * info)
    return path


@pytest.mark.parametrize("packing", ["bz2", "lz4"])
def test_a_ros_1_chunk_of_zeros_is_refused(
    tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "MAX_UNPACKED_BYTES", LIMIT)
    path = _ros1(tmp_path / "a.bag", PACKINGS[packing](ZEROS), packing)
    with pytest.raises(DriverError, match="unpacks to more than the 1048576 bytes"):
        _read(path)


def test_a_ros_1_index_that_repeats_itself_is_refused(tmp_path: Path) -> None:
    path = _ros1(tmp_path / "a.bag", b"", "none", infos=2)
    with pytest.raises(DriverError, match="two chunks are said to begin"):
        _read(path)


def test_no_length_that_a_ros_1_bag_claims_is_taken_on_trust(tmp_path: Path) -> None:
    path = _ros1(tmp_path / "a.bag", bytes(64), "none")
    content, taken = path.read_bytes(), {}
    tracemalloc.start()
    try:
        for at in range(len(content) - 3):
            path.write_bytes(content[:at] + struct.pack("<I", 1 << 30) + content[at + 4 :])
            tracemalloc.reset_peak()
            # Not all of its bytes are lengths: some bags can still be read.
            with suppress(DriverError):
                _read(path)
            taken[at] = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {at: size for at, size in taken.items() if size > 16 * LIMIT} == {}


METADATA = {
    "aliases": "a: &a [x]\nrosbag2_bagfile_information: {relative_file_paths: [*a, *a]}",
    "depth": "[" * 5000 + "]" * 5000,
    "a number": "rosbag2_bagfile_information: {relative_file_paths: 17}",
    "a map": "rosbag2_bagfile_information: {relative_file_paths: [{a: b}]}",
    "a long name": f"rosbag2_bagfile_information: {{relative_file_paths: [{'x' * 100_000}]}}",
    "a number of files": "rosbag2_bagfile_information: {relative_file_paths: [a.db3], files: 3}",
    "no map": "17",
}  # fmt: skip


@pytest.mark.parametrize("kind", METADATA)
def test_hostile_metadata_is_one_sentence(tmp_path: Path, kind: str) -> None:
    (tmp_path / "metadata.yaml").write_text(METADATA[kind])
    with pytest.raises(DriverError, match=r"metadata\.yaml"):
        open_bag(tmp_path)


def _db3(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()
    return path


DATABASES = {
    "an endless view of messages": (
        TOPICS, TOPIC,
        f"CREATE VIEW messages AS {ENDLESS} SELECT x AS id, 1 AS topic_id, x AS timestamp, "
        "x'00' AS data FROM n",
    ),
    "an endless view of topics": (
        MESSAGES,
        f"CREATE VIEW topics AS {ENDLESS} SELECT x AS id, 'a' AS name, 'b' AS type, "
        "'cdr' AS serialization_format FROM n",
    ),
    "a view of zeros": (
        TOPICS, TOPIC,
        "CREATE VIEW messages AS SELECT 1 AS id, 1 AS topic_id, 1 AS timestamp, "
        "zeroblob(900000000) AS data",
    ),
    "computed data": (
        TOPICS, TOPIC,
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, "
        "data BLOB GENERATED ALWAYS AS (zeroblob(200000000)))",
        "INSERT INTO messages(topic_id, timestamp) VALUES (1, 1)",
    ),
    "a virtual table": (TOPICS, TOPIC, "CREATE VIRTUAL TABLE messages USING fts5(data)"),
    "numbers for names": (TOPICS, MESSAGES, "INSERT INTO topics VALUES (1, x'01', 2, 3)",
                          "INSERT INTO messages VALUES (1, 1, 1, x'00')"),
    "a topic that is not there": (TOPICS, MESSAGES,
                                  "INSERT INTO messages VALUES (1, 9, 1, x'00')"),
    "a stamp that no clock shows": (
        TOPICS, TOPIC, MESSAGES, "INSERT INTO messages VALUES (1, 1, 9223372036854775807, x'00')"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DATABASES)
def test_a_database_that_is_no_bag_is_refused(tmp_path: Path, kind: str) -> None:
    path = _db3(tmp_path / "a.db3", *DATABASES[kind])
    with pytest.raises(DriverError, match=r"a\.db3: cannot be read as a ROS 2 sqlite bag"):
        _read(path)


@pytest.mark.parametrize(
    "values", ["1, 3000000000", "1, 100000000000000", "1, -5", "'soon', x'00'", "9e999, x'00'",
               "NULL, x'00'", "1, 'text'"],
)  # fmt: skip
def test_odd_rows_are_counted_and_left_out(tmp_path: Path, values: str) -> None:
    path = _db3(
        tmp_path / "a.db3", TOPICS, TOPIC,
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data)",
        "INSERT INTO messages VALUES (1, 1, 5, x'00')",
        f"INSERT INTO messages VALUES (2, 1, {values})",
    )  # fmt: skip
    count, problems = _read(path)
    assert count == 1
    assert any("1 messages are left out" in text for text in problems)
