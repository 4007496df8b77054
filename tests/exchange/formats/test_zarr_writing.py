"""What is written as Zarr is laid out as diffusion policy reads it and comes back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from tests.exchange.small_sets import table_writer, tables_of, write_episodes, write_with

from corporeal.episode.recording import ImageSequence
from corporeal.exchange.formats import zarr as zarr_writing
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions

WRITER = table_writer("zarr")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("zarr") / "source", 3, seconds=0.5)


@pytest.fixture(scope="module")
def out(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_with(WRITER, source, tmp_path_factory.mktemp("zarr_out"))


def test_every_column_and_picture_comes_back(source: Path, out: Path) -> None:
    context, tables = tables_of(source)
    dataset = open_dataset(out)
    assert dataset.format == "zarr"
    assert dataset.facts == {"rate_hz": 30.0, "rate_stated": True}
    for table in tables:
        recording = dataset.open(table.number)
        assert recording.id == table.recording.id
        assert recording.embodiment == table.recording.embodiment
        assert recording.metadata["instruction"] == table.text
        assert recording.metadata["outcome"] == {"success": True}
        for key, values in table.whole().items():
            signal = recording.signals[str(WRITER.label(key))]
            np.testing.assert_array_equal(signal[:], values)
            np.testing.assert_array_equal(signal.time_ns, table.time_ns)
            assert signal.spec.components == context.layout.columns[key].names
            assert signal.spec.unit == context.layout.columns[key].streams[0].unit
        for key, camera in table.cameras.items():
            stills = recording.signals[str(WRITER.label(key))]
            assert isinstance(stills, ImageSequence)
            np.testing.assert_array_equal(stills[:], np.stack(list(pictures_of(camera))))


def test_the_zarr_library_reads_the_store(source: Path, out: Path) -> None:
    _, tables = tables_of(source)
    root: Any = zarr.open_group(out / "replay.zarr", mode="r", zarr_format=2)
    ends = np.cumsum([len(table) for table in tables])
    np.testing.assert_array_equal(root["meta/episode_ends"][:], ends)
    states = np.concatenate([table.whole()["observation.state"] for table in tables])
    np.testing.assert_array_equal(root["data/state"][:], states)
    assert root["data/head_left"].chunks == (1, 48, 64, 3)
    assert {array.shape[0] for _, array in root["data"].arrays()} == {ends[-1]}
    last = list(pictures_of(tables[-1].cameras["observation.images.head_left"]))[-1]
    np.testing.assert_array_equal(root["data/head_left"][-1], last)


def test_chunks_that_end_within_an_episode_are_filled_from_the_next(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zarr_writing, "_CHUNK_BYTES", 29 * 4 * 7)
    out = write_with(WRITER, source, tmp_path, ExportOptions(exclude=("head_left", "head_right")))
    root: Any = zarr.open_group(out / "replay.zarr", mode="r", zarr_format=2)
    assert root["data/action"].chunks == (7, 29)
    _, tables = tables_of(source, ExportOptions(exclude=("head_left", "head_right")))
    for table in tables:
        got = open_dataset(out).open(table.number).signals["action"]
        np.testing.assert_array_equal(got[:], table.whole()["action"])


def test_modes_are_a_column(source: Path, tmp_path: Path) -> None:
    options = ExportOptions(view="hierarchical")
    _, tables = tables_of(source, options)
    mode = open_dataset(write_with(WRITER, source, tmp_path, options)).open(2).signals["mode"]
    assert tables[2].mode is not None
    np.testing.assert_array_equal(np.asarray(mode[:])[:, 0], tables[2].mode)
