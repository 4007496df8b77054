"""What is written as robomimic HDF5 is laid out as robomimic wants it and comes back as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.exchange.small_sets import (
    table_writer,
    tables_of,
    write_episode,
    write_episodes,
    write_with,
)

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.formats.robomimic import recognises
from corporeal.exchange.mode import MODES
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions

WRITER = table_writer("robomimic")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("robomimic") / "source", seconds=0.6)


@pytest.fixture(scope="module")
def out(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_with(WRITER, source, tmp_path_factory.mktemp("robomimic_out"))


def test_columns_come_back_with_values_names_units_and_capture_times(
    source: Path, out: Path
) -> None:
    context, tables = tables_of(source)
    dataset = open_dataset(out)
    assert dataset.format == "robomimic"
    assert dataset.episodes == (0, 1)
    for table in tables:
        recording = dataset.open(table.number)
        assert recording.defects == ()
        assert not recording.regridded
        for key, values in table.whole().items():
            signal = recording.signals[str(WRITER.label(key))]
            np.testing.assert_array_equal(signal[:], values)
            np.testing.assert_array_equal(signal.time_ns, table.time_ns)
            assert signal.spec.components == context.layout.columns[key].names
            assert signal.spec.path == context.layout.columns[key].streams[0].path
            assert signal.spec.unit == context.layout.columns[key].streams[0].unit


def test_pictures_come_back_to_the_last_bit(source: Path, out: Path) -> None:
    _, tables = tables_of(source)
    for table in tables:
        recording = open_dataset(out).open(table.number)
        for key, camera in table.cameras.items():
            stills = recording.signals[str(WRITER.label(key))]
            assert isinstance(stills, ImageSequence)
            assert stills.spec.path == camera.spec.stream.path
            np.testing.assert_array_equal(stills[:], np.stack(list(pictures_of(camera))))


def test_episode_robot_instruction_and_outcome_come_back(source: Path, out: Path) -> None:
    _, tables = tables_of(source)
    recording = open_dataset(out).open(1)
    assert recording.id == tables[1].recording.id
    assert recording.embodiment == tables[1].recording.embodiment
    assert recording.metadata["instruction"] == tables[1].text
    assert recording.metadata["outcome"] == {"success": True}


def test_the_file_is_laid_out_as_robomimic_wants_it(source: Path, out: Path) -> None:
    _, tables = tables_of(source)
    with h5py.File(out / "dataset.hdf5") as file:
        data = file["data"]
        assert sorted(data) == ["demo_0", "demo_1"]
        assert data.attrs["total"] == sum(map(len, tables))
        assert json.loads(data.attrs["env_args"])["env_kwargs"]["control_freq"] == 30.0
        assert list(file["mask/train"]) == [b"demo_0"]
        assert list(file["mask/valid"]) == [b"demo_1"]
        demo = data["demo_1"]
        length = len(tables[1])
        assert demo.attrs["num_samples"] == length
        assert json.loads(demo.attrs["ep_meta"])["lang"] == tables[1].text
        assert demo["actions"].shape == (length, 29)
        assert demo["obs/head_left_image"].shape == (length, 48, 64, 3)
        assert demo["obs/head_left_image"].chunks == (1, 48, 64, 3)
        assert demo["dones"][-1] == 1
        assert demo["dones"][:].sum() == 1
        assert demo["rewards"][:].sum() == demo["rewards"][-1] == 1.0


def test_a_file_and_its_folder_are_the_same_dataset(out: Path) -> None:
    assert recognises(out)
    assert recognises(out / "dataset.hdf5")
    by_file, by_folder = (open_dataset(path).open(0) for path in (out / "dataset.hdf5", out))
    assert by_file.id == by_folder.id


@pytest.mark.parametrize(("success", "reward"), [(False, 0.0), (None, 0.0), (True, 1.0)])
def test_only_a_success_is_rewarded(tmp_path: Path, success: bool | None, reward: float) -> None:
    (tmp_path / "source").mkdir()
    write_episode(tmp_path / "source/e.h5", seconds=0.3, outcome=success)
    out = write_with(WRITER, tmp_path / "source", tmp_path)
    with h5py.File(out / "dataset.hdf5") as file:
        assert file["data/demo_0/rewards"][:].sum() == reward
        assert list(file["mask/valid"]) == []
    outcome = open_dataset(out).open(0).metadata.get("outcome")
    assert outcome == (None if success is None else {"success": success})


def test_modes_come_back_with_what_their_numbers_mean(source: Path, tmp_path: Path) -> None:
    options = ExportOptions(view="hierarchical")
    _, tables = tables_of(source, options)
    signal = open_dataset(write_with(WRITER, source, tmp_path, options)).open(0).signals["obs/mode"]
    assert tables[0].mode is not None
    np.testing.assert_array_equal(np.asarray(signal[:])[:, 0], tables[0].mode)
    assert all(mode in (signal.spec.description or "") for mode in MODES)


def test_a_state_of_several_streams_keeps_the_names_of_all(source: Path, tmp_path: Path) -> None:
    options = ExportOptions(state=("joint_position", "joint_velocity"))
    context, _ = tables_of(source, options)
    signals = open_dataset(write_with(WRITER, source, tmp_path, options)).open(0).signals
    state = signals["obs/state"].spec
    assert state.components == context.layout.columns["observation.state"].names
    assert state.unit == ("rad",) * 29 + ("rad/s",) * 29


def test_two_streams_of_one_place_are_refused(source: Path, tmp_path: Path) -> None:
    context, tables = tables_of(source)
    columns = {
        **context.layout.columns,
        "observation.head_left_image": context.layout.columns["action"],
    }
    table = replace(tables[0], layout=replace(context.layout, columns=columns))
    with pytest.raises(WriteError, match="would both be 'obs/head_left_image'"):
        WRITER.write(table, tmp_path, context)


def test_a_note_that_makes_no_sense_is_an_error_that_says_what_to_do(
    out: Path, tmp_path: Path
) -> None:
    path = tmp_path / "dataset.hdf5"
    path.write_bytes((out / "dataset.hdf5").read_bytes())
    with h5py.File(path, "a") as file:
        note = json.loads(bytes(file["corporeal"][()]))
        del file["corporeal"]
        file["corporeal"] = np.bytes_(json.dumps({**note, "rate_hz": -1}).encode())
    with pytest.raises(EpisodeError, match=r"rate_hz.*Remove the note"):
        open_dataset(path)


def test_a_note_that_is_no_json_is_an_error(out: Path, tmp_path: Path) -> None:
    path = tmp_path / "dataset.hdf5"
    path.write_bytes((out / "dataset.hdf5").read_bytes())
    with h5py.File(path, "a") as file:
        del file["corporeal"]
        file["corporeal"] = np.bytes_(b"{")
    with pytest.raises(EpisodeError, match="/corporeal is not JSON"):
        open_dataset(path)


def test_what_somebody_changed_or_added_is_read_like_anybodys(out: Path, tmp_path: Path) -> None:
    path = tmp_path / "dataset.hdf5"
    path.write_bytes((out / "dataset.hdf5").read_bytes())
    with h5py.File(path, "a") as file:
        length = file["data/demo_0"].attrs["num_samples"]
        del file["data/demo_0/actions"]
        file["data/demo_0/actions"] = np.zeros((length, 3))
        file["data/demo_0/obs/object"] = np.ones((length, 2))
    signals = open_dataset(path).open(0).signals
    assert signals["actions"].spec.name == "action"
    assert signals["actions"].spec.components is None
    assert signals["obs/object"].spec.shape == (2,)
    assert signals["obs/state"].spec.components is not None
