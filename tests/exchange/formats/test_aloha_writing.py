"""What is written as ALOHA HDF5 is laid out as ACT reads it and comes back as it was."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.exchange.small_sets import table_writer, tables_of, write_episodes, write_with

from corporeal.episode.recording import ImageSequence
from corporeal.errors import WriteError
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions

WRITER = table_writer("aloha")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("aloha") / "source", seconds=0.5)


@pytest.fixture(scope="module")
def out(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_with(WRITER, source, tmp_path_factory.mktemp("aloha_out"))


def test_every_column_and_picture_comes_back(source: Path, out: Path) -> None:
    context, tables = tables_of(source)
    dataset = open_dataset(out)
    assert dataset.format == "aloha"
    for table in tables:
        recording = dataset.open(table.number)
        assert recording.defects == ()
        assert recording.id == table.recording.id
        assert recording.embodiment == table.recording.embodiment
        assert recording.metadata["fps"] == 30.0
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


def test_files_are_laid_out_as_act_reads_them(source: Path, out: Path) -> None:
    _, tables = tables_of(source)
    assert sorted(path.name for path in out.iterdir()) == ["episode_0.hdf5", "episode_1.hdf5"]
    with h5py.File(out / "episode_1.hdf5") as file:
        length = len(tables[1])
        assert bool(file.attrs["sim"]) is False
        assert bool(file.attrs["compress"]) is False
        for name in ("observations/qpos", "observations/qvel", "observations/effort", "action"):
            assert file[name].shape == (length, 29)
        assert file["observations/images/head_left"].shape == (length, 48, 64, 3)
        assert file["observations/images/head_left"].dtype == np.uint8


def test_a_velocity_that_nobody_measured_is_not_a_number_and_not_read_back(
    source: Path, tmp_path: Path
) -> None:
    out = write_with(WRITER, source, tmp_path, ExportOptions(exclude=("joint_velocity",)))
    with h5py.File(out / "episode_0.hdf5") as file:
        assert file["observations/qvel"].shape == file["observations/qpos"].shape
        assert np.isnan(file["observations/qvel"][:]).all()
    assert "observations/qvel" not in open_dataset(out).open(0).signals


def test_episodes_without_a_command_are_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="got no action"):
        write_with(WRITER, source, tmp_path, ExportOptions(exclude=("joint_position_target",)))


def test_assembling_again_after_an_interruption_gives_the_same(
    source: Path, tmp_path: Path
) -> None:
    first = write_with(WRITER, source, tmp_path)
    kept = (first / "episode_0.hdf5").read_bytes()
    (first / "episode_0.hdf5").unlink()
    assert (tmp_path / "pieces/000000/episode.hdf5").read_bytes() == kept
