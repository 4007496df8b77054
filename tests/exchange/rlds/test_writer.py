"""RLDS datasets are written without TensorFlow and read back with names, units and texts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exchange.small_sets import tables_of, write_episode, write_episodes, write_with

from corporeal.episode.recording import ImageSequence, Recording
from corporeal.errors import WriteError
from corporeal.exchange.format import ExportContext, TableWriter, WrittenEpisode
from corporeal.exchange.formats.rlds import FORMAT
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.rlds import writer as rlds_writer
from corporeal.exchange.rlds.features import label
from corporeal.exchange.rlds.writer import dataset_name
from corporeal.exchange.table import EpisodeTable
from corporeal.exchange.tfrecord import parse_example, records

WRITER = FORMAT.writer
assert WRITER is not None


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("source"), 3, seconds=0.5, size=(32, 48))


@pytest.fixture(scope="module")
def out(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert WRITER is not None
    return write_with(WRITER, source, tmp_path_factory.mktemp("written"))


def rewritten(table: EpisodeTable, context: ExportContext, work: Path) -> tuple[Path, Recording]:
    """One table as a dataset, and the episode that is read from it."""
    assert WRITER is not None
    (work / "piece").mkdir(parents=True)
    (work / "out").mkdir()
    assert isinstance(WRITER, TableWriter)
    details = WRITER.write(table, work / "piece", context)
    written = WrittenEpisode(work / "piece", table.recording.id, 0, details=details)
    WRITER.assemble([written], work / "out", context)
    return work / "out", open_dataset(work / "out").open(0)


def example_of(out: Path, number: int = 0) -> dict[str, Any]:
    (file,) = out.glob("*.tfrecord*")
    return dict(parse_example(list(records(file))[number].read()))


def test_values_names_units_and_robot_come_back(source: Path, out: Path) -> None:
    context, tables = tables_of(source)
    dataset = open_dataset(out)
    assert dataset.defects == ()
    assert len(dataset.episodes) == 3
    for table, number in zip(tables, dataset.episodes, strict=True):
        recording = dataset.open(number)
        assert recording.defects == ()
        assert recording.id == table.recording.id
        assert recording.embodiment == context.robot
        for key, values in table.whole().items():
            signal = recording.signals[label(key)]
            (stream,) = context.layout.columns[key].streams
            assert np.array_equal(signal[:], values.astype(signal.spec.dtype))
            assert signal.spec.path == stream.path
            assert signal.spec.unit == stream.unit
            assert signal.spec.components == stream.components
            assert np.array_equal(signal.time_ns, table.time_ns)


def test_texts_and_outcome_come_back(source: Path, out: Path) -> None:
    _, tables = tables_of(source)
    metadata = open_dataset(out).open(0).metadata
    assert metadata["instruction"] == tables[0].text != ""
    assert metadata["success"] is True
    assert metadata["fps"] == tables[0].rate_hz


def test_pictures_are_those_of_the_rows(source: Path, out: Path) -> None:
    context, tables = tables_of(source)
    recording = open_dataset(out).open(1)
    for key, camera in tables[1].cameras.items():
        stills = recording.signals[label(key)]
        assert isinstance(stills, ImageSequence)
        assert stills.spec.name == context.layout.cameras[key].stream.name
        for row, picture in enumerate(pictures_of(camera)):
            difference = stills[row].astype(int) - picture
            assert np.abs(difference).mean() < 4


def test_steps_are_marked_as_in_open_x_embodiment(out: Path) -> None:
    example = example_of(out)
    count = len(example["steps/reward"])
    assert example["steps/is_first"].tolist() == [1] + [0] * (count - 1)
    assert example["steps/is_last"].tolist() == [0] * (count - 1) + [1]
    assert example["steps/is_terminal"].tolist() == [0] * (count - 1) + [1]
    assert example["steps/reward"].tolist() == [0] * (count - 1) + [1]
    assert example["steps/discount"].tolist() == [1] * count
    assert len(example["steps/language_instruction"]) == count


@pytest.mark.parametrize("outcome", [False, None])
def test_a_failure_and_an_unknown_outcome_earn_nothing(
    tmp_path: Path, outcome: bool | None
) -> None:
    path = write_episode(tmp_path / "e.h5", seconds=0.3, size=(16, 16), outcome=outcome)
    context, (table,) = tables_of(path)
    out, recording = rewritten(table, context, tmp_path / "work")
    assert not example_of(out)["steps/reward"].any()
    assert recording.metadata.get("success") is outcome


def test_an_instruction_may_change_inside_an_episode(source: Path, tmp_path: Path) -> None:
    context, tables = tables_of(source)
    places = (np.arange(len(tables[0])) >= 5).astype(np.int64)
    table = replace(tables[0], instructions=("walk", "heb die Tür auf"), instruction=places)
    out, recording = rewritten(table, context, tmp_path)
    assert recording.metadata["instruction"] == "walk"
    assert recording.metadata["instructions"] == ("walk", "heb die Tür auf")
    (again,) = tables_of(out)[1]
    assert again.instructions == table.instructions
    assert np.array_equal(again.instruction, places)


def test_the_hierarchical_view_has_a_mode_in_every_step(source: Path, tmp_path: Path) -> None:
    context, tables = tables_of(source, ExportOptions(view="hierarchical"))
    out, recording = rewritten(tables[0], context, tmp_path)
    assert tables[0].mode is not None
    assert np.array_equal(recording.signals["mode"][:].reshape(-1), tables[0].mode)
    said = json.loads((out / "metadata.json").read_text())["corporeal"]["modes"]
    assert said[1] == "locomotion"


def test_normalised_columns_have_no_unit(source: Path, tmp_path: Path) -> None:
    context, tables = tables_of(source, ExportOptions(normalise="limits"))
    _, recording = rewritten(tables[0], context, tmp_path)
    assert recording.signals["observation/state"].spec.unit == "1"


def test_a_state_of_several_streams_keeps_their_names(source: Path, tmp_path: Path) -> None:
    context, tables = tables_of(source, ExportOptions(state=("joint_position", "pelvis_imu")))
    _, recording = rewritten(tables[0], context, tmp_path)
    spec = recording.signals["observation/state"].spec
    assert spec.components == context.layout.columns["observation.state"].names
    assert spec.unit == ("rad",) * 29 + ("m/s2",) * 3 + ("rad/s",) * 3


def test_files_have_a_bounded_size(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WRITER is not None
    whole = write_with(WRITER, source, tmp_path / "whole")
    (file,) = whole.glob("*.tfrecord*")
    monkeypatch.setattr(rlds_writer, "SHARD_BYTES", int(file.stat().st_size * 0.7))
    out = write_with(WRITER, source, tmp_path / "parts")
    files = sorted(out.glob("*.tfrecord*"))
    assert [file.name for file in files] == [
        "small-train.tfrecord-00000-of-00002",
        "small-train.tfrecord-00001-of-00002",
    ]
    assert b"".join(each.read_bytes() for each in files) == file.read_bytes()
    (split,) = json.loads((out / "dataset_info.json").read_text())["splits"]
    assert split["shardLengths"] == ["2", "1"]
    assert open_dataset(out).defects == ()


def test_two_columns_of_one_name_are_refused(source: Path, tmp_path: Path) -> None:
    context, tables = tables_of(source)
    layout = context.layout
    twin = replace(layout.columns["action"], key="observation.image_head_left")
    columns = {**layout.columns, twin.key: twin}
    context = replace(context, layout=replace(layout, columns=columns))
    with pytest.raises(WriteError, match="two columns would be observation/image_head_left"):
        rewritten(tables[0], context, tmp_path)


def test_jpeg_pictures_of_the_same_size_are_not_encoded_anew(
    shared_data: Path, tmp_path: Path
) -> None:
    path = shared_data / "hdf5_rlds" / "rlds_bridge"
    context, tables = tables_of(path)
    table = tables[1]
    source = table.recording.signals["observation/image_0"]
    assert isinstance(source, ImageSequence)
    _, recording = rewritten(table, context, tmp_path)
    stills = recording.signals["observation/image_0"]
    assert isinstance(stills, ImageSequence)
    assert list(stills.pictures) == list(source.pictures)
    assert recording.signals["observation/state"].spec.unit == ("m",) * 3 + ("rad",) * 3 + ("1",)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("observation.state", "observation/state"),
        ("action", "action"),
        ("action.gripper_target", "action_dict/gripper_target"),
        ("observation.images.head_left", "observation/image_head_left"),
        ("observation.images.image_0", "observation/image_0"),
    ],
)
def test_columns_are_called_as_in_open_x_embodiment(key: str, path: str) -> None:
    assert label(key) == path


@pytest.mark.parametrize(
    ("name", "plain"), [("My set-2", "my_set_2"), ("2nd", "dataset_2nd"), ("日本", "dataset")]
)
def test_a_dataset_has_a_name_that_tensorflow_takes(name: str, plain: str) -> None:
    assert dataset_name(name) == plain
