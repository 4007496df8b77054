"""The journal: what went in comes out, and whatever happens to the file, what was synced stays."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader

from corporeal.episode.file.journal import (
    MARKS,
    JournalError,
    JournalWriter,
)
from corporeal.episode.file.journal_index import Journal, open_journal

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
# Stream, when it was made, when it arrived, the packed sample.
Entry = tuple[str, int, int, bytes]
ENTRIES = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), INT64, INT64, st.binary(max_size=300)), max_size=20
)


def _write(path: Path, entries: list[Entry], **more: Any) -> None:
    writer = JournalWriter(path, {"name": "ünïcode"}, ["a", "b"], **more)
    for entry in entries:
        writer.append(*entry)
    writer.close()


def _entries(journal: Journal) -> Iterator[Entry]:
    for stream in journal.runs:
        stamps = journal.stamps(stream).tolist()
        for (arrival_ns, source_ns), payload in zip(stamps, journal.samples(stream), strict=True):
            yield stream, source_ns, arrival_ns, payload


@pytest.fixture(scope="module")
def chunks(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[tuple[int, int]]]:
    """A journal of three chunks, and how many entries are whole up to which byte."""
    path = tmp_path_factory.mktemp("chunks") / "a.journal"
    writer = JournalWriter(path, {"name": "x"}, ["a", "b"], sync_every_s=0.005)
    edges = [(writer.synced_bytes, 0)]
    for number in range(6):
        writer.append("ab"[number % 2], number, 10 + number, bytes([number]) * 5)
        if number % 2:
            before = writer.synced_bytes
            while writer.synced_bytes == before or writer.waiting_bytes:
                time.sleep(0.001)
            edges.append((writer.synced_bytes, number + 1))
    writer.close()
    return path.read_bytes(), edges


def _read(path: Path) -> tuple[Journal, list[Entry]]:
    """The journal and its entries in the order of their making."""
    with open_journal(path) as journal:
        return journal, sorted(_entries(journal), key=lambda entry: entry[1])


@settings(max_examples=25)
@given(entries=ENTRIES, sync_every_s=st.sampled_from([None, 0.01]))
def test_what_is_appended_is_read_back(
    entries: list[Entry], sync_every_s: float | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("j") / "a.journal"
    _write(path, entries, sync_every_s=sync_every_s)
    with open_journal(path) as journal:
        read = list(_entries(journal))
    # Every stream in its own order.
    for stream in ("a", "b"):
        assert [entry for entry in read if entry[0] == stream] == [
            entry for entry in entries if entry[0] == stream
        ]
    assert len(read) == len(entries)
    assert journal.header == {"name": "ünïcode"}
    assert journal.is_whole
    assert journal.ending == "closed"


@pytest.mark.parametrize("count", [0, 1, 5, 3000])
def test_many_samples_at_once_are_the_same_one_by_one(tmp_path: Path, count: int) -> None:
    times = np.arange(count) * 7 - 50
    rows = np.random.default_rng(0).integers(0, 256, (count, 900), np.uint8)
    one_by_one = JournalWriter(tmp_path / "a.journal", {}, ["a", "b"], sync_every_s=None)
    at_once = JournalWriter(tmp_path / "b.journal", {}, ["a", "b"], sync_every_s=None)
    for time_ns, row in zip(times.tolist(), rows, strict=True):
        one_by_one.append("b", time_ns, time_ns, row.tobytes())
    at_once.extend("b", times, rows)
    for writer in (one_by_one, at_once):
        writer.close()
        with open_journal(writer.path) as journal:
            assert list(journal.runs) == ["b"] * (count > 0)
            if count:
                np.testing.assert_array_equal(np.concatenate(list(journal.rows("b"))), rows)
                assert journal.stamps("b").tolist() == [[stamp, stamp] for stamp in times.tolist()]


def test_a_sample_is_written_by_who_brings_it_when_the_writing_thread_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(JournalWriter, "_write_on", lambda _: ended.wait())
    path = tmp_path / "a.journal"
    writer = JournalWriter(path, {}, ["x"])
    writer._taken_s -= 1
    writer.append("x", 1, 1, b"in time")
    assert b"in time" not in path.read_bytes()
    writer.append("x", 2, 2, b"late", received_s=time.monotonic() - 0.1)
    assert b"in time" in path.read_bytes()
    assert b"late" in path.read_bytes()
    ended.set()
    writer.close()


def test_a_later_version_is_refused_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.episode.file.journal.VERSION", 7)
    JournalWriter(tmp_path / "a.journal", {}, ["a"]).close()
    monkeypatch.undo()
    with pytest.raises(JournalError, match="version 7; expected 3 at most"):
        _read(tmp_path / "a.journal")


def test_any_mcap_tool_reads_a_journal(tmp_path: Path) -> None:
    _write(tmp_path / "a.journal", [("a", 1, 2, b"x"), ("b", 3, 4, b"yy")])
    with (tmp_path / "a.journal").open("rb") as file:
        found = [
            (channel.topic, message.publish_time, message.log_time, message.data)
            for _, channel, message in make_reader(file).iter_messages()
        ]
    assert found == [("a", 1, 2, b"x"), ("b", 3, 4, b"yy")]


def test_a_mark_is_an_entry_with_words(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "a.journal", {}, ["a"])
    writer.mark("start", 5, {"task": "reach \ud800"})
    writer.close()
    (found,) = _read(tmp_path / "a.journal")[1]
    assert found[0] == MARKS
    assert b'"what": "start"' in found[3]


def test_cut_at_any_byte_it_keeps_every_whole_chunk(
    chunks: tuple[bytes, list[tuple[int, int]]], tmp_path: Path
) -> None:
    whole, edges = chunks
    path = tmp_path / "a.journal"
    readable = 0
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        try:
            journal, entries = _read(path)
        except JournalError:
            assert size < edges[0][0]
            continue
        readable += 1
        expected = max((count for edge, count in edges if edge <= size), default=0)
        assert [entry[1] for entry in entries] == list(range(expected)), size
        assert not journal.is_whole
        assert not journal.is_damaged
    assert readable > len(whole) - edges[0][0]


def test_a_flipped_bit_anywhere_invents_nothing(
    chunks: tuple[bytes, list[tuple[int, int]]], tmp_path: Path
) -> None:
    whole, edges = chunks
    path = tmp_path / "a.journal"
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            journal, entries = _read(path)
        except JournalError:
            assert place < edges[0][0]
            continue
        before = max((count for edge, count in edges if edge <= place), default=0)
        after = min((count for edge, count in edges if edge > place), default=6)
        numbers = [entry[1] for entry in entries]
        # Only the chunk that was hit is missing. A flip in the times of a chunk's head, in the
        # footer, or in the chunk of channels, which stand elsewhere as well, changes no sample.
        assert numbers in ([*range(before), *range(after, 6)], list(range(6))), place
        assert all(payload == bytes([source_ns]) * 5 for _, source_ns, _, payload in entries)
        assert journal.is_whole or journal.ending.startswith("cut: ")
        assert journal.is_whole == (len(entries) == 6 and journal.ending == "closed")


@given(noise=st.binary(max_size=400))
@settings(max_examples=100)
def test_garbage_is_refused_with_one_error(
    noise: bytes,
    chunks: tuple[bytes, list[tuple[int, int]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    whole, edges = chunks
    path = tmp_path_factory.mktemp("noise") / "a.journal"
    path.write_bytes(noise)
    with pytest.raises(JournalError, match="not a journal"):
        _read(path)
    path.write_bytes(whole[: edges[1][0]] + noise)
    journal, entries = _read(path)
    assert len(entries) == 2
    assert not journal.is_whole


def test_two_writers_on_one_path_are_refused(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "a.journal", {}, ["a"])
    with pytest.raises(JournalError, match="File exists"):
        JournalWriter(tmp_path / "a.journal", {}, ["a"])
    writer.close()


def test_a_closed_journal_takes_no_more(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "a.journal", {}, ["a"])
    writer.close()
    writer.close()
    with pytest.raises(JournalError, match="is closed"):
        writer.append("a", 1, 1, b"")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        JournalWriter(tmp_path / "none" / "a.journal", {}, ["a"])


def test_a_full_disk_says_so_and_keeps_what_was_synced(tmp_path: Path) -> None:
    program = """
import resource, sys, time
from pathlib import Path
from corporeal.episode.file.journal import JournalError, JournalWriter
writer = JournalWriter(Path(sys.argv[1]), {}, ["a"], sync_every_s=0.01)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
try:
    for number in range(100_000):
        writer.append("a", number, number, bytes(100))
        time.sleep(0.0005)
except JournalError as error:
    print(writer.synced_bytes, error)
try:
    writer.close()
except JournalError:
    print("again")
"""
    path = tmp_path / "a.journal"
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=30
    )
    assert "File too large" in done.stdout, done.stderr
    assert "corporeal recover" in done.stdout
    assert "again" in done.stdout
    journal, entries = _read(path)
    synced = int(done.stdout.split()[0])
    assert [entry[1] for entry in entries] == list(range(len(entries)))
    # 100 bytes of a sample and 31 of its record; heads of chunks aside.
    assert len(entries) >= (synced - 1000) // 145
    assert journal.ending.startswith("cut")


def test_a_journal_that_cannot_be_begun_leaves_no_file(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(JournalError, match="File too large"):
            JournalWriter(tmp_path / "a.journal", {}, ["a"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_the_waiting_bytes_can_be_asked_at_any_time(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "a.journal", {}, ["a"], sync_every_s=0.0001)
    for number in range(3000):
        writer.append("a", number, number, b"x")
        assert writer.waiting_bytes >= 0
    writer.close()
