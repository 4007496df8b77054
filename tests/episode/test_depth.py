"""Depth comes back bit for bit, or within the error that its stream states; no bomb goes off."""

from __future__ import annotations

import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.file import depth
from corporeal.episode.overview import verify
from corporeal.errors import EpisodeError
from corporeal.schema import Schema
from corporeal.schema.stream import DepthError

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


errors = st.builds(
    DepthError,
    constant=st.floats(0, 70) | st.just(65535.0),
    quadratic=st.floats(0, 1e-4) | st.sampled_from([0.0, 4.16e-6, 1.0]),
)
# An error of 0.08 px of disparity at a focal length of 385 px and a baseline of 50 mm.
STEREO = DepthError(constant=1, quadratic=4.16e-6)


@settings(max_examples=40)
@given(errors)
def test_every_depth_is_within_the_error_of_its_level(error: DepthError) -> None:
    levels = depth.levels_within(error)
    measured = np.arange(65536)
    stored = levels.depth[levels.number]
    assert (np.abs(stored.astype(int) - measured) <= error.constant + error.quadratic * measured**2
            ).all()  # fmt: skip
    assert stored[0] == 0
    assert (stored[1:] > 0).all(), "only what was not measured is 0"
    assert (np.diff(levels.depth.astype(int)) > 0).all()


@settings(max_examples=60)
@given(frames, errors)
def test_a_rounded_frame_is_within_its_error_and_rounded_only_once(
    frame: Frame, error: DepthError
) -> None:
    levels = depth.levels_within(error)
    decoded = depth.decode(depth.encode(frame, levels), frame.shape, levels)
    allowed = error.constant + error.quadratic * frame.astype(float) ** 2
    assert (np.abs(decoded.astype(int) - frame) <= allowed).all()
    np.testing.assert_array_equal(decoded == 0, frame == 0)
    again = depth.decode(depth.encode(decoded, levels), frame.shape, levels)
    np.testing.assert_array_equal(again, decoded)


def test_an_error_below_one_count_changes_nothing() -> None:
    levels = depth.levels_within(DepthError(constant=0.4))
    np.testing.assert_array_equal(levels.depth[levels.number], np.arange(65536))


def test_a_level_beyond_the_last_is_refused() -> None:
    levels = depth.levels_within(DepthError(constant=1000))
    chunk = depth.encode(np.full((4, 5), 60_000, np.uint16))
    with pytest.raises(EpisodeError, match="expected 33 at most"):
        depth.decode(chunk, (4, 5), levels)


def _written(path: Path, frames_mm: Frame, error: DepthError | None) -> Path:
    stream = {"name": "depth", "group": "observations", "kind": "depth", "unit": "mm",
              "shape": frames_mm.shape[1:], "rate_hz": 30,
              "depth_error": error.model_dump() if error else None}  # fmt: skip
    schema = Schema.model_validate(
        {"document": "schema", "name": "rounded", "version": "1.0.0", "streams": [stream]}
    )
    with EpisodeWriter(path, schema=schema, epoch_ns=0) as writer:
        writer.extend("observations/depth", np.arange(len(frames_mm)) * 33_000_000, frames_mm)
    return path


@pytest.fixture(scope="module")
def noisy_mm() -> Frame:
    """Two frames of a wall at an angle, with 4 mm of noise and holes."""
    rng = np.random.default_rng(3)
    wall = np.linspace(900, 2600, 96) + rng.normal(0, 4, (2, 64, 96))
    wall[rng.random(wall.shape) < 0.01] = 0
    return wall.astype(np.uint16)


def test_an_episode_states_its_error_keeps_to_it_and_is_smaller(
    tmp_path: Path, noisy_mm: Frame
) -> None:
    exact = _written(tmp_path / "exact.h5", noisy_mm, None)
    rounded = _written(tmp_path / "rounded.h5", noisy_mm, STEREO)
    assert verify(rounded) == ()
    with Episode.open(exact) as plain, Episode.open(rounded) as episode:
        assert (plain.version, episode.version) == (1, 2)
        reader = episode["observations/depth"]
        assert reader.spec.depth_error == STEREO
        error = np.abs(reader[:].astype(int) - noisy_mm)
        assert (error <= 1 + 4.16e-6 * noisy_mm.astype(float) ** 2).all()
        assert error.max() > 1
        np.testing.assert_array_equal(reader[:] == 0, noisy_mm == 0)
        assert reader.nbytes < 0.5 * plain["observations/depth"].nbytes


def test_plain_h5py_reads_rounded_depth_by_its_levels(tmp_path: Path, noisy_mm: Frame) -> None:
    path = _written(tmp_path / "rounded.h5", noisy_mm, STEREO)
    with Episode.open(path) as episode:
        expected = episode["observations/depth"][1]
    with h5py.File(path) as file:
        group = file["observations/depth"]
        assert group["data"].attrs["encoding"] == b"delta zigzag of levels"
        assert group["data"].attrs["max_error_quadratic"] == 4.16e-6
        shown = group["levels"][()][depth.restore(group["data"][1])]
        np.testing.assert_array_equal(shown, expected)


def test_levels_that_are_not_those_of_the_error_do_not_verify(
    tmp_path: Path, noisy_mm: Frame
) -> None:
    path = _written(tmp_path / "rounded.h5", noisy_mm, STEREO)
    path.chmod(0o644)
    with h5py.File(path, "r+") as file:
        file["observations/depth/levels"][5] += 1
    assert any(
        damage.path == "observations/depth/levels" and "error that the stream" in damage.message
        for damage in verify(path)
    )


def test_only_depth_can_have_an_error_of_depth() -> None:
    stream = {"name": "arm", "group": "observations", "shape": [3], "rate_hz": 30,
              "depth_error": {"constant": 2}}  # fmt: skip
    with pytest.raises(ValueError, match="expected one of kind depth"):
        Schema.model_validate(
            {"document": "schema", "name": "wrong", "version": "1.0.0", "streams": [stream]}
        )
