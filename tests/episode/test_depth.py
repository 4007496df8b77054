"""Depth comes back bit for bit, also through plain h5py, and a bomb does not go off."""

from __future__ import annotations

import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from corporeal.episode.file import depth
from corporeal.errors import EpisodeError

extremes = st.sampled_from([0, 1, 2, 32767, 32768, 65534, 65535]) | st.integers(0, 65535)
frames = arrays(np.uint16, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=extremes)

Frame = NDArray[np.uint16]


@given(frames)
def test_any_frame_comes_back_bit_for_bit(frame: Frame) -> None:
    decoded = depth.decode(depth.encode(frame), frame.shape)
    assert decoded.dtype == np.uint16
    np.testing.assert_array_equal(decoded, frame)


@given(frames)
def test_plain_h5py_undoes_all_but_the_last_step(frame: Frame) -> None:
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset(
            "data", (1, *frame.shape), "<u2", chunks=(1, *frame.shape), shuffle=True,
            compression="gzip",
        )  # fmt: skip
        dataset.id.write_direct_chunk((0, 0, 0), depth.encode(frame))
        np.testing.assert_array_equal(depth.restore(dataset[0]), frame)
        np.testing.assert_array_equal(depth.restore(dataset[:])[0], frame)


@given(frames)
def test_what_hdf5_packs_itself_is_read_too(frame: Frame) -> None:
    stored = depth._residual(frame)
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset(
            "data", data=stored[None], chunks=(1, *frame.shape), shuffle=True, compression="gzip"
        )
        mask, chunk = dataset.id.read_direct_chunk((0, 0, 0))
    # HDF5 leaves a filter out where it does not help.
    if mask == 0:
        np.testing.assert_array_equal(depth.decode(bytes(chunk), frame.shape), frame)


@pytest.mark.parametrize("shape", [(1, 1), (1, 640), (480, 1)])
@pytest.mark.parametrize("value", [0, 65535])
def test_thin_and_flat_frames_come_back(shape: tuple[int, int], value: int) -> None:
    frame = np.full(shape, value, np.uint16)
    np.testing.assert_array_equal(depth.decode(depth.encode(frame), shape), frame)


def test_a_frame_that_is_not_contiguous_comes_back() -> None:
    frame = np.random.default_rng(0).integers(0, 65536, (12, 20)).astype(np.uint16)[::2, ::-3]
    np.testing.assert_array_equal(depth.decode(depth.encode(frame), frame.shape), frame)


def test_smooth_depth_becomes_small() -> None:
    rows, columns = np.mgrid[:120, :160]
    frame = (1500 + rows + 2 * columns).astype(np.uint16)
    assert len(depth.encode(frame)) < frame.nbytes / 20


@pytest.mark.parametrize("place", ["shorter", "longer", "torn", "tail", "noise", "empty", "check"])
def test_a_chunk_that_is_not_one_frame_is_refused(place: str) -> None:
    frame = np.arange(20, dtype=np.uint16).reshape(4, 5)
    chunk = depth.encode(frame)
    bad = {
        "shorter": zlib.compress(b"\0" * 39),
        "longer": zlib.compress(b"\0" * 41),
        "torn": chunk[: len(chunk) // 2],
        "tail": chunk[:-1],
        "noise": b"\xff" * 20,
        "empty": b"",
        "check": chunk[:-1] + bytes([chunk[-1] ^ 1]),
    }[place]
    with pytest.raises(EpisodeError) as caught:
        depth.decode(bad, (4, 5))
    assert "\n" not in str(caught.value)


def test_a_bomb_is_defused() -> None:
    bomb = zlib.compress(bytes(200 << 20), 9)
    tracemalloc.start()
    try:
        with pytest.raises(EpisodeError, match="expected 40"):
            depth.decode(bomb, (4, 5))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_the_reader_gives_what_was_written(every_episode: Any, every_sample: Any) -> None:
    expected = np.stack([value for _, value in every_sample["observations/depth"]])
    reader = every_episode["observations/depth"]
    np.testing.assert_array_equal(reader[:], expected)
    np.testing.assert_array_equal(reader[[4, 0, 4]], expected[[4, 0, 4]])
    np.testing.assert_array_equal(reader[-1], expected[-1])


def test_plain_h5py_reads_the_depth_of_an_episode(every_kind: Path, every_sample: Any) -> None:
    with h5py.File(every_kind) as file:
        dataset = file["observations/depth/data"]
        assert dataset.attrs["encoding"].decode() == depth.ENCODING
        for number, (_, frame) in enumerate(every_sample["observations/depth"]):
            np.testing.assert_array_equal(depth.restore(dataset[number]), frame)
