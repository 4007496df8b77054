"""Records are written as TensorFlow writes them, and hostile ones cost no memory."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import google_crc32c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange import tfrecord
from corporeal.exchange.tfrecord import (
    ExampleWriter,
    masked,
    masked_crc,
    packed_integers,
    parse_example,
    records,
)


def slow_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", [0, 1, 3, 4, 255, 256, 257, 1023, 65535, 65536, 65539, 300001])
def test_the_checksum_of_any_length_is_that_of_one_bit_after_the_other(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert masked_crc(data) == masked(slow_crc(data))


@given(st.binary(max_size=2000), st.integers(0, 2000))
def test_a_checksum_can_be_taken_in_two_parts(data: bytes, cut: int) -> None:
    assert google_crc32c.extend(google_crc32c.value(data[:cut]), data[cut:]) == slow_crc(data)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50))
def test_integers_of_any_size_come_back(numbers: list[int]) -> None:
    values = np.array(numbers, np.int64)
    expected = bytearray()
    for number in numbers:
        left = number % 2**64
        while left > 0x7F:
            expected.append(left & 0x7F | 0x80)
            left >>= 7
        expected.append(left)
    assert packed_integers(values) == bytes(expected)


def written(path: Path) -> dict[str, object]:
    (place,) = records(path)
    return dict(parse_example(place.read()))


def test_features_that_grow_in_blocks_are_one_feature(tmp_path: Path) -> None:
    numbers = np.arange(-300, 700_000, 7)
    with ExampleWriter(tmp_path) as example:
        for part in np.array_split(numbers, 9):
            example.numbers("integers", part)
            example.numbers("floats", part.reshape(1, -1).astype(np.float64))
            example.blobs("texts", [f"{part[0]}".encode(), b""])
        size = example.write(tmp_path / "x.tfrecord")
    found = written(tmp_path / "x.tfrecord")
    assert np.array_equal(found["integers"], numbers)  # type: ignore[arg-type]
    assert np.array_equal(found["floats"], numbers.astype(np.float32))  # type: ignore[arg-type]
    assert len(found["texts"]) == 18  # type: ignore[arg-type]
    assert (tmp_path / "x.tfrecord").stat().st_size == size + 16
    assert [path.name for path in tmp_path.iterdir()] == ["x.tfrecord"]


def test_an_episode_that_no_record_can_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tfrecord, "MAX_RECORD", 1000)
    with ExampleWriter(tmp_path) as example:
        example.numbers("a", np.zeros(400))
        with pytest.raises(WriteError, match="smaller pictures"):
            example.write(tmp_path / "x.tfrecord")
    assert not list(tmp_path.iterdir())


def test_a_feature_has_entries_of_one_kind(tmp_path: Path) -> None:
    with ExampleWriter(tmp_path) as example:
        example.numbers("a", np.zeros(1))
        with pytest.raises(WriteError, match="two kinds"):
            example.blobs("a", [b"x"])


def test_a_flipped_bit_in_the_data_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    with ExampleWriter(tmp_path) as example:
        example.numbers("a", np.zeros(400))
        example.write(path)
    data = bytearray(path.read_bytes())
    data[500] ^= 1
    path.write_bytes(data)
    with pytest.raises(EpisodeError, match="wrong checksum"):
        next(records(path)).read()


def test_a_number_without_an_end_takes_no_memory() -> None:
    packed = b"\x0a" + b"\x80\x80\x04" + b"\xff" * 65535 + b"\x01"
    listed = b"\x1a" + tfrecord._varint_bytes(len(packed)) + packed
    entry = b"\x0a\x01a\x12" + tfrecord._varint_bytes(len(listed)) + listed
    features = b"\x0a" + tfrecord._varint_bytes(len(entry)) + entry
    data = b"\x0a" + tfrecord._varint_bytes(len(features)) + features
    with pytest.raises(EpisodeError, match="more than ten bytes"):
        parse_example(data)


def test_a_record_that_claims_more_than_the_file_has_is_not_read(tmp_path: Path) -> None:
    size = struct.pack("<Q", 1 << 50)
    path = tmp_path / "x.tfrecord"
    path.write_bytes(size + struct.pack("<I", masked_crc(size)) + b"abcdefgh")
    with pytest.raises(EpisodeError, match="more than are there"):
        list(records(path))


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, 59), st.integers(0, 255))))
def test_any_bytes_are_an_example_or_refused(noise: bytes, flips: list[tuple[int, int]]) -> None:
    good = bytearray(b"\x0a\x16\x0a\x0a\x0a\x01a\x12\x05\x1a\x03\x0a\x01\x05"
                     b"\x0a\x08\x0a\x01b\x12\x03\x0a\x01\x00")  # fmt: skip
    for place, value in flips:
        good[place % len(good)] = value
    for data in (noise, bytes(good)):
        with suppress(EpisodeError):
            parse_example(data)


def test_a_number_in_place_of_a_text_takes_no_memory() -> None:
    # A list of bytes whose entry is the number 2^40, not a text of that length.
    entry = b"\x0a\x01a\x12\x09\x0a\x07\x08\x80\x80\x80\x80\x80\x20"
    features = b"\x0a" + bytes([len(entry)]) + entry
    with pytest.raises(EpisodeError, match="a number where bytes belong"):
        parse_example(b"\x0a" + bytes([len(features)]) + features)
