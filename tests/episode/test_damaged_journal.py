"""A journal that was changed on disk: all that can be read is read, and nothing is thrown away."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corporeal.episode import Episode
from corporeal.episode.file import Packer, assembly, find_leftovers, recover, recovery
from corporeal.episode.file.journal import JournalWriter
from corporeal.episode.file.journal_index import open_journal
from corporeal.episode.overview import verify
from corporeal.errors import EpisodeError, WriteError
from corporeal.schema import Schema, Stream

VIDEO: dict[str, Any] = {"name": "v", "group": "debug", "kind": "video", "shape": [48, 64, 3],
                         "rate_hz": 30}  # fmt: skip
STREAMS: list[dict[str, Any]] = [
    {"name": "a", "group": "debug", "shape": [2], "dtype": "int64"},
    VIDEO,
    {"name": "d", "group": "debug", "kind": "depth", "shape": [24, 32]},
]
CHUNKS, CHUNK_OPCODE = 20, 6


def _picture(number: int) -> np.ndarray[Any, Any]:
    rows = np.arange(48, dtype=np.uint8)[:, None, None] * 2
    return np.broadcast_to(rows + 3 * number, (48, 64, 3)).astype(np.uint8)


def _header() -> dict[str, Any]:
    from corporeal.episode.file import episode_header

    schema = Schema.model_validate(
        {"document": "schema", "name": "s", "version": "1.0.0", "streams": STREAMS}
    )
    return episode_header(Path("a.h5"), schema=schema, embodiment=None, metadata={"task": "t"},
                          epoch_ns=0, episode_id="x")  # fmt: skip


def _write(path: Path, *, raw: frozenset[int] = frozenset()) -> list[int]:
    """Twenty chunks with one sample of each stream; returns where the chunks begin."""
    cameras = ["debug/v", "debug/d"]
    packers = {f"debug/{values['name']}": Packer(Stream.model_validate(values))
               for values in STREAMS}  # fmt: skip
    writer = JournalWriter(path, _header(), list(packers), raw=cameras, sync_every_s=None)
    for number in range(CHUNKS):
        values = {"debug/a": np.full(2, number), "debug/v": _picture(number),
                  "debug/d": np.full((24, 32), number, np.uint16)}  # fmt: skip
        for stream, value in values.items():
            is_raw = stream in cameras and number in raw
            pack = packers[stream].pack_raw if is_raw else packers[stream].pack
            writer.append(stream, number, number, pack(value), is_raw=is_raw)
        writer.flush()
    writer.close()
    return _places(path.read_bytes())


def _places(data: bytes) -> list[int]:
    places, place = [], 8
    while place < len(data) - 8:
        opcode, length = struct.unpack_from("<BQ", data, place)
        if opcode == CHUNK_OPCODE:
            places.append(place)
        place += 9 + length
    return places[1:]


@pytest.mark.parametrize("offset", [4, 20, 45, 200], ids=["length", "times", "checked", "picture"])
def test_only_the_chunk_that_was_hit_is_missing(tmp_path: Path, offset: int) -> None:
    path = tmp_path / "a.journal"
    places = _write(path)
    data = bytearray(path.read_bytes())
    data[places[2] + offset] ^= 0x10
    path.write_bytes(data)
    target = recover(path)
    assert verify(target) == ()
    with Episode.open(target) as episode:
        numbers = episode["debug/a"].time_ns.tolist()
        if offset == 20:
            # The times in the head of a chunk are for quick looks alone.
            assert numbers == list(range(CHUNKS))
            return
        assert numbers == [number for number in range(CHUNKS) if number != 2]
        (gap,) = episode.metadata["gaps"]
        assert (gap["start_ns"], gap["end_ns"]) == (1, 3)
        assert gap["lost_in_all"] == {"debug/a": 1, "debug/v": 1, "debug/d": 1}
        assert "quarantine" in episode.metadata
        # The third picture was a key frame: the fourth cannot be shown without it.
        assert episode["debug/v"].time_ns.tolist() == [0, 1, *range(4, CHUNKS)]
        for number, picture in zip(episode["debug/v"].time_ns, episode["debug/v"][:], strict=True):
            assert abs(picture.astype(int) - _picture(number)).max() <= 4
    assert path.with_name("a.journal.damaged").read_bytes() == data


def test_damage_to_the_list_of_channels_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    _write(path)
    data = bytearray(path.read_bytes())
    data[data.index(b"\x06", data.index(b"channels_crc32")) + 60] ^= 1
    path.write_bytes(data)
    with Episode.open(recover(path)) as episode:
        assert all(len(episode[stream]) == CHUNKS for stream in episode)


def test_no_flip_in_the_header_costs_anything(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    first = _write(path)[0]
    whole = path.read_bytes()
    samples = {"debug/a": CHUNKS, "debug/v": CHUNKS, "debug/d": CHUNKS}
    for place in [*range(40), *range(40, first, 37)]:
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        path.write_bytes(data)
        with open_journal(path) as journal:
            assert {name: runs.samples for name, runs in journal.runs.items()} == samples
            assert journal.header["metadata"] == {"task": "t"}
            assert journal.is_numbered
    # The version has no checksum but that of the copy.
    path.write_bytes(whole.replace(b"version\x01\0\0\x003", b"version\x01\0\0\x009", 1))
    target = recover(path)
    assert path.with_name("a.journal.damaged").exists()
    with Episode.open(target) as episode:
        assert "its copy was read" in str(episode.recovered)
        assert len(episode["debug/a"]) == CHUNKS


@pytest.mark.parametrize("raw", [{0}, {3}, {4, 5, 6}, {1, 7, 8}, set(range(CHUNKS))])
def test_pictures_that_waited_for_their_code_are_as_the_others(
    tmp_path: Path, raw: set[int]
) -> None:
    path = tmp_path / "a.journal"
    _write(path, raw=frozenset(raw))
    target = recover(path)
    assert verify(target) == ()
    with Episode.open(target) as episode:
        assert episode["debug/v"].time_ns.tolist() == list(range(CHUNKS))
        assert episode["debug/d"][:][:, 0, 0].tolist() == list(range(CHUNKS))
        for number, picture in enumerate(episode["debug/v"][:]):
            assert abs(picture.astype(int) - _picture(number)).max() <= 4
    assert not path.exists()


def test_a_raw_picture_of_another_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    writer = JournalWriter(path, _header(), ["debug/v"], raw=["debug/v"], sync_every_s=None)
    writer.append("debug/v", 0, 0, b"short", is_raw=True)
    writer.close()
    with pytest.raises(WriteError, match="got 5 bytes of a raw picture; expected 9216"):
        recover(path)
    assert path.exists()


def test_a_file_full_of_heads_of_chunks_ends_soon(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    _write(path)
    size = 1 << 20
    head = struct.pack("<BQQQQIIQ", CHUNK_OPCODE, size + 40, 0, 0, size, 1, 0, size)
    with path.open("r+b") as file:
        file.seek(-20, os.SEEK_END)
        file.write(head * 40_000)
    with open_journal(path) as journal:
        assert journal.is_damaged
        assert journal.runs["debug/a"].samples == CHUNKS


def test_the_journal_stays_when_the_episode_is_not_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.journal"
    _write(path)
    assemble = assembly.assemble

    def spoil(journal: Any, header: Any, target: Path, **more: Any) -> None:
        assemble(journal, header, target, **more)
        data = bytearray(target.read_bytes())
        data[len(data) // 2] ^= 1
        target.chmod(0o644)
        target.write_bytes(data)

    monkeypatch.setattr(recovery, "assemble", spoil)
    with pytest.raises(EpisodeError):
        recover(path)
    assert path.exists()


@pytest.mark.parametrize("seed", range(4))
def test_no_flip_of_a_length_removes_what_stands_behind(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "a.journal"
    places = _write(path)
    rng = np.random.default_rng(seed)
    hit = int(rng.integers(1, CHUNKS))
    data = bytearray(path.read_bytes())
    data[places[hit] + 1 + int(rng.integers(2, 4))] ^= 1 << int(rng.integers(4, 8))
    path.write_bytes(data)
    with Episode.open(recover(path)) as episode:
        assert len(episode["debug/a"]) == CHUNKS - 1
    assert path.with_name("a.journal.damaged").exists()


def test_pipes_links_and_folders_are_no_journals(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.journal")
    (tmp_path / "folder.journal").mkdir()
    (tmp_path / "link.journal").symlink_to(tmp_path / "good.journal")
    _write(tmp_path / "good.journal")
    assert len(find_leftovers(tmp_path)) == 4
    for name in ("pipe", "folder", "link"):
        with pytest.raises(EpisodeError, match=r"no regular file|a link; expected"):
            recover(tmp_path / f"{name}.journal")
    assert verify(recover(tmp_path / "good.journal")) == ()
