"""An episode that lies elsewhere reads as a file does, in few requests and bounded memory."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.episode import Episode
from corporeal.episode.file.byte_source import RemoteBytes
from corporeal.errors import CorporealError, EpisodeError

BLOCK = 64 << 10


class Elsewhere:
    """Bytes that count how they are asked for, and may stop answering."""

    def __init__(self, content: bytes, *, answers: int | None = None) -> None:
        self.name = "sha256:elsewhere"
        self.size = len(content)
        self.asked: list[tuple[int, int]] = []
        self._content = content
        self._answers = answers

    def read(self, start: int, count: int) -> bytes:
        assert start >= 0
        assert 0 < count <= self.size - start
        self.asked.append((start, count))
        if self._answers is not None and len(self.asked) > self._answers:
            raise CorporealError("the store is gone.")
        return self._content[start : start + count]


class Forgetful(Elsewhere):
    """Gives fewer bytes than it was asked for."""

    def read(self, start: int, count: int) -> bytes:
        data = super().read(start, count)
        return data if start == 0 and len(self.asked) == 1 else data[:-1]


def _content_of(episode: Episode) -> dict[str, Any]:
    found: dict[str, Any] = {"head": (episode.id, episode.metadata, episode.documents)}
    for path, stream in episode.items():
        found[path] = (stream.time_ns.tolist(), [np.asarray(each).tolist() for each in stream[:]])
    return found


def test_every_stream_reads_as_from_a_file(every_kind: Path, recording: Path) -> None:
    for path in (every_kind, recording):
        with (
            Episode.open(path) as local,
            Episode.open_source(Elsewhere(path.read_bytes())) as remote,
        ):
            assert _content_of(remote) == _content_of(local)
            assert remote.schema == local.schema


def test_a_few_samples_take_few_requests(recording: Path) -> None:
    source = Elsewhere(recording.read_bytes())
    with Episode.open_source(source) as episode:
        opening = len(source.asked)
        episode["observations/joint_position"][:]
    assert opening <= 4
    assert len(source.asked) <= opening + 4
    assert len(set(source.asked)) == len(source.asked)


@pytest.mark.parametrize("answers", range(3))
def test_a_store_that_stops_answering_says_so_itself(every_kind: Path, answers: int) -> None:
    big = every_kind.read_bytes()
    source = Elsewhere(big, answers=min(answers, (len(big) - 1) // BLOCK))
    with pytest.raises(CorporealError, match=r"^the store is gone\.$"):
        _ = _content_of(Episode.open_source(source))


def test_a_store_that_gives_too_little_is_refused(recording: Path) -> None:
    source = Forgetful(recording.read_bytes())
    with pytest.raises(EpisodeError, match="verify the store"):
        _ = _content_of(Episode.open_source(source))


@pytest.mark.parametrize("content", [b"", b"short", b"\x89HDF\r\n\x1a\n", bytes(100_000)])
def test_what_is_no_episode_is_refused_in_one_sentence(content: bytes) -> None:
    with pytest.raises(EpisodeError, match="sha256:elsewhere: ") as told:
        Episode.open_source(Elsewhere(content))
    assert "\n" not in str(told.value)


def test_a_cut_or_changed_object_does_as_such_a_file_does(every_kind: Path, tmp_path: Path) -> None:
    whole = every_kind.read_bytes()
    rng = random.Random(3)
    copy = tmp_path / "copy.h5"
    refused = 0
    for number in range(60):
        changed = bytearray(whole)
        if number % 3:
            changed[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        else:
            del changed[rng.randrange(len(whole)) :]
        copy.write_bytes(changed)
        local = _outcome(lambda: Episode.open(copy))
        remote = _outcome(lambda: Episode.open_source(Elsewhere(copy.read_bytes())))
        assert remote == local, number
        refused += remote is None
    assert 10 < refused < 60


def _outcome(opened: Callable[[], Episode]) -> str | None:
    try:
        with opened() as episode:
            return repr(_content_of(episode))
    except CorporealError:
        return None


def test_data_behind_a_link_is_refused(
    changed: Callable[[Callable[[h5py.File], None]], Path],
) -> None:
    def edit(file: h5py.File) -> None:
        del file["observations/arm/data"]
        file["observations/arm/data"] = h5py.ExternalLink("/etc/hostname", "/x")

    with (
        Episode.open_source(Elsewhere(changed(edit).read_bytes())) as episode,
        pytest.raises(EpisodeError, match="is a link"),
    ):
        episode["observations/arm"][:]


def test_a_closed_one_says_so(every_kind: Path) -> None:
    episode = Episode.open_source(Elsewhere(every_kind.read_bytes()))
    arm = episode["observations/arm"]
    episode.close()
    episode.close()
    with pytest.raises(EpisodeError, match="is closed"):
        arm[:]


def test_a_stream_keeps_its_source_alive(every_kind: Path) -> None:
    arm = Episode.open_source(Elsewhere(every_kind.read_bytes()))["observations/arm"]
    gc.collect()
    assert len(arm[:]) == len(arm)


def test_reading_in_order_asks_for_more_each_time_and_keeps_a_bounded_part() -> None:
    content = np.random.default_rng(1).bytes(60 << 20)
    source = Elsewhere(content)
    opened = RemoteBytes(source)
    for start in range(0, len(content), 10_000):
        assert opened.bytes_at(start, 10_000 if start + 10_000 < len(content) else 1)
    assert len(source.asked) < 40
    assert max(count for _, count in source.asked) <= 65 * BLOCK
    kept = sum(map(len, opened._kept.values()))
    assert kept <= 32 << 20


def test_many_bytes_at_once_are_one_request_and_are_not_kept() -> None:
    content = bytes(20 << 20)
    source = Elsewhere(content)
    opened = RemoteBytes(source)
    assert opened.bytes_at(5, 15 << 20) == content[5 : 5 + (15 << 20)]
    assert source.asked == [(5, 15 << 20)]
    assert not opened._kept


@given(
    st.lists(st.tuples(st.integers(-5, 800_000), st.integers(-5, 400_000)), max_size=12),
    st.integers(0, 700_000),
)
def test_any_range_is_what_the_object_has_there(places: list[tuple[int, int]], size: int) -> None:
    content = bytes(np.arange(size, dtype=np.uint32).astype(np.uint8) * 7 + size % 251)
    opened = RemoteBytes(Elsewhere(content))
    for start, count in places:
        if start < 0 or count < 0 or start + count > size:
            with pytest.raises(EOFError):
                opened.bytes_at(start, count)
        else:
            assert opened.bytes_at(start, count) == content[start : start + count]
