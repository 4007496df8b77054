"""Pickled numbers are read; whatever else a pickle asks for is refused unread."""

from __future__ import annotations

import bz2
import collections
import gzip
import lzma
import os
import pickle
import struct
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corporeal.errors import EpisodeError
from corporeal.exchange.restricted_pickle import read_pickle, read_pickled_npy

TABLE = {
    "036422060215": [
        {"timestamp": 1650000000123, "tcp": np.arange(7.0), "robot_ft": np.ones(6, np.float32)},
        {"timestamp": np.int64(1650000000223), "tcp": np.arange(7.0) + 1, "ok": np.bool_(True)},
    ],
    "gripper": {1650000000123: {"gripper_info": [84, 0, 3], "width": np.float64(3.5)}},
    "matrix": np.asfortranarray(np.arange(12, dtype=">i4").reshape(3, 4)),
    "flags": np.array([True, False]),
    "text": "words",
    "none": None,
}


def _npy(path: Path, body: bytes) -> Path:
    """An .npy file whose header says that it holds an object, and this pickle."""
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (), }".ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body)
    return path


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other)) and one.dtype == other.dtype
    return bool(one == other)


def test_tables_of_numbers_come_back_as_they_were(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", TABLE, allow_pickle=True)  # type: ignore[arg-type]
    assert _equal(TABLE, read_pickled_npy(tmp_path / "a.npy"))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_that_numpy_has_used_is_read(tmp_path: Path, protocol: int) -> None:
    outer = np.empty((), object)
    outer[()] = TABLE
    path = _npy(tmp_path / "a.npy", pickle.dumps(outer, protocol))
    assert _equal(TABLE, read_pickled_npy(path))


class _Command:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    "payload",
    [
        _Command(os.system, "touch gotcha"),
        _Command(eval, "1"),
        _Command(np.zeros, 10),
        collections.OrderedDict(a=1),
        np.array(["text"]),
        np.dtype("f8"),
    ],
    ids=["system", "eval", "zeros", "class", "texts", "dtype"],
)
def test_anything_but_numbers_and_containers_is_refused(tmp_path: Path, payload: Any) -> None:
    path = _npy(tmp_path / "a.npy", pickle.dumps({"a": payload}, 4))
    with pytest.raises(EpisodeError, match="not a pickle of numbers"):
        read_pickled_npy(path)
    assert not Path("gotcha").exists()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        # Two gigabytes for the place of one object.
        b"\x80\x02]r\xff\xff\xff\x7f.",
        # An array of a million million bytes.
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
        b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85U\x01b\x87R.",
        # A buffer of four exabytes.
        b"\x80\x05\x96\x00\x00\x00\x00\x00\x00\x00\x40.",
        # An attribute of a function that the file has named.
        b"\x80\x02c_codecs\nencode\nN}X\x08\x00\x00\x00__name__K\x01s\x86b.",
        # A list in itself.
        b"\x80\x02]q\x00h\x00a.",
    ],
    ids=["empty", "garbage", "memo", "array", "buffer", "attribute", "circle"],
)
def test_hostile_pickles_cost_neither_memory_nor_time(tmp_path: Path, body: bytes) -> None:
    path = _npy(tmp_path / "a.npy", body)
    begin = time.process_time()
    if body.endswith(b"r\xff\xff\xff\x7f."):
        assert read_pickled_npy(path) == []
    else:
        with pytest.raises(EpisodeError, match=r"a\.npy: not a pickle of numbers"):
            read_pickled_npy(path)
    assert time.process_time() - begin < 5


def test_lists_that_unfold_without_end_are_refused(tmp_path: Path) -> None:
    nested: list[Any] = [0.0] * 64
    for _ in range(7):
        nested = [nested] * 64
    path = _npy(tmp_path / "a.npy", pickle.dumps(nested, 4))
    assert path.stat().st_size < 4096
    with pytest.raises(EpisodeError, match="nested too deep, or without end"):
        read_pickled_npy(path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_anywhere_is_one_sentence_or_a_plain_value(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damage") / "a.npy"
    np.save(path, TABLE, allow_pickle=True)  # type: ignore[arg-type]
    raw = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=4)):
        raw[place] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(raw[: data.draw(st.integers(1, len(raw)))]))
    # Any other exception fails the test.
    with suppress(EpisodeError):
        read_pickled_npy(path)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_damage_of_a_published_motion_is_one_sentence_or_a_plain_value(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    published = sorted((shared_data / "retarget" / "asap_g1_23dof").glob("*.pkl"))[0]
    raw = bytearray(published.read_bytes())
    # Most of it are numbers; what is worth damaging stands in front of them.
    spots = st.one_of(st.integers(0, 400), st.integers(0, len(raw) - 1))
    for spot in data.draw(st.lists(spots, min_size=1, max_size=4)):
        raw[spot] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damage") / "a.pkl"
    path.write_bytes(bytes(raw[: data.draw(st.integers(1, len(raw)))]))
    with suppress(EpisodeError):
        read_pickle(path)


@pytest.mark.parametrize(
    "body",
    [
        pickle.dumps({"a": _Command(os.system, "touch gotcha")}, 4),
        # joblib's array, made of arguments, and of another class.
        b"\x80\x02cjoblib.numpy_pickle\nNumpyArrayWrapper\nK\x01\x85\x81.",
        b"\x80\x02cnumpy\nndarray\n)\x81.",
        b"\x80\x02cos\nsystem\n)\x81.",
    ],
    ids=["command", "arguments", "class", "function"],
)
def test_pickles_that_make_anything_else_are_refused(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "a.pkl").write_bytes(body)
    with pytest.raises(EpisodeError, match="not a pickle of numbers"):
        read_pickle(tmp_path / "a.pkl")
    assert not Path("gotcha").exists()


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zlib.compress])
def test_compressed_pickles_are_read_and_bombs_are_not(
    tmp_path: Path, compress: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.pkl"
    path.write_bytes(compress(pickle.dumps(TABLE, 4)))
    assert _equal(TABLE, read_pickle(path))
    monkeypatch.setattr("corporeal.exchange.restricted_pickle.MAX_BYTES", 1 << 16)
    path.write_bytes(compress(pickle.dumps(bytes(1 << 17), 4)))
    with pytest.raises(EpisodeError, match="when decompressed"):
        read_pickle(path)


def test_a_plain_array_is_not_a_pickle(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(EpisodeError, match="holds no object"):
        read_pickled_npy(tmp_path / "a.npy")
    with pytest.raises(EpisodeError, match="cannot be read"):
        read_pickled_npy(tmp_path / "missing.npy")
