"""Arrays of any shape and type come back from their chunks, any rows of them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numcodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corporeal.errors import EpisodeError
from corporeal.exchange.formats import zarr as zarr_writing
from corporeal.exchange.zarr_store import COMPRESSORS, ZarrFolderStore, decode, open_array

DTYPES = st.sampled_from(["<f4", "<f8", "<i8", "|u1", "|b1", "<u2"])
SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 5), st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), dtype=DTYPES, shape=SHAPES, chunk_bytes=st.integers(1, 400))
def test_any_rows_of_any_array_come_back(
    data: st.DataObject, dtype: str, shape: tuple[int, ...], chunk_bytes: int
) -> None:
    values = data.draw(arrays(np.dtype(dtype), shape))
    cuts = sorted(data.draw(st.lists(st.integers(0, shape[0]), max_size=3)))
    first = data.draw(st.integers(0, shape[0] - 1))
    stop = data.draw(st.integers(first + 1, shape[0]))
    with TemporaryDirectory() as name, patch.object(zarr_writing, "_CHUNK_BYTES", chunk_bytes):
        folder = Path(name)
        zarr_writing.write_array(folder / "x", np.split(values, cuts), shape, values.dtype)
        array = open_array(ZarrFolderStore(folder), "x")
        assert (array.shape, array.dtype) == (shape, values.dtype)
        np.testing.assert_array_equal(array.rows(first, stop), values[first:stop])


@pytest.mark.parametrize("kind", COMPRESSORS)
@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 1 << 12), byte=st.integers(0, 255), cut=st.integers(0, 40))
def test_a_damaged_chunk_gives_its_size_or_an_error(
    kind: str, place: int, byte: int, cut: int
) -> None:
    plain = (np.arange(6000) % 251).astype(np.uint8).tobytes()
    packed = bytearray(numcodecs.get_codec({"id": kind}).encode(plain))
    packed[place % len(packed)] = byte
    with suppress(EpisodeError):
        assert len(decode(bytes(packed[: len(packed) - cut]), {"id": kind}, 6000, "here")) == 6000
