"""What is written as LeRobot comes back row for row, and its lists, files and statistics agree."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from tests.exchange.lerobot_exports import (
    recording_of_arrays,
    stored,
    tables_of_recordings,
    write_set,
)
from tests.exchange.small_sets import table_writer, tables_of, write_episodes, write_tables

from corporeal.episode.recording import Dataset, ImageSequence, Recording
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.format import ExportContext
from corporeal.exchange.layout import layout_of
from corporeal.exchange.lerobot import layouts, writing
from corporeal.exchange.lerobot.layouts import Limits, assemble_v3
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import EpisodeTable, table_of

NAMES = ("lerobot", "lerobot_v21", "groot")
CAMERA = "observation.images.head_left"

Source = tuple[ExportContext, list[EpisodeTable]]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    folder = write_episodes(tmp_path_factory.mktemp("source") / "episodes", 3)
    return tables_of(folder)


@pytest.fixture(scope="module", params=NAMES)
def dataset(
    request: pytest.FixtureRequest, source: Source, tmp_path_factory: pytest.TempPathFactory
) -> Dataset:
    return open_dataset(write_set(request.param, *source, tmp_path_factory.mktemp(request.param)))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_every_number_comes_back_row_for_row(source: Source, dataset: Dataset) -> None:
    _, tables = source
    assert dataset.defects == ()
    assert dataset.episodes == (0, 1, 2)
    for table in tables:
        recording = dataset.open(table.number)
        assert recording.defects == ()
        for key, values in table.whole().items():
            signal = recording.signals[key]
            assert np.array_equal(signal[:], stored(values)), key
            assert np.allclose(signal.time_ns, np.arange(len(table)) / 30 * 1e9, atol=500)


def test_names_units_robot_instruction_and_outcome_come_back(
    source: Source, dataset: Dataset
) -> None:
    context, tables = source
    recording = dataset.open(1)
    assert recording.embodiment is not None
    assert context.robot is not None
    assert recording.embodiment.name == context.robot.name
    assert recording.metadata["instruction"] == tables[1].text
    assert recording.metadata["success"] is True
    for key, column in context.layout.columns.items():
        spec = recording.signals[key].spec
        last = int(spec.shape[-1])
        assert ((spec.unit,) * last if isinstance(spec.unit, str) else spec.unit) == column.units
        assert (spec.components if column.names else None) == column.names, key
        assert spec.name == column.streams[0].name


def test_every_row_shows_its_picture(source: Source, dataset: Dataset) -> None:
    _, tables = source
    for table in tables:
        recording = dataset.open(table.number)
        for key, camera in table.cameras.items():
            shown = recording.signals[key][:]
            expected = np.stack(list(pictures_of(camera)))
            assert shown.shape == expected.shape
            off = np.abs(shown.astype(int) - expected).mean(axis=(1, 2, 3))
            # Copied pictures are the same; the one that begins a movie may be encoded anew.
            assert np.median(off) == 0
            assert off.max() < 4


def test_the_table_of_episodes_says_where_each_one_lies(source: Source, tmp_path: Path) -> None:
    context, tables = source
    out = write_set("lerobot", context, tables, tmp_path)
    rows = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    start = 0
    for row, table in zip(rows, tables, strict=True):
        assert row["dataset_from_index"] == start
        assert row["dataset_to_index"] == start + len(table)
        assert row[f"videos/{CAMERA}/from_timestamp"] == start / 30
        assert row[f"videos/{CAMERA}/to_timestamp"] == (start + len(table)) / 30
        assert row["tasks"] == [table.text]
        start += len(table)
    data = pq.read_table(out / "data/chunk-000/file-000.parquet")
    assert data.column("index").to_pylist() == list(range(start))
    info = read_json(out / "meta/info.json")
    assert (info["total_frames"], info["total_episodes"], info["fps"]) == (start, 3, 30)


def test_files_are_begun_anew_when_they_are_full(source: Source, tmp_path: Path) -> None:
    context, tables = source
    pieces = write_tables(table_writer("lerobot"), context, tables, tmp_path)
    size = (pieces[0].folder / f"{CAMERA}.mp4").stat().st_size
    out = tmp_path / "out"
    out.mkdir()
    assemble_v3(pieces, out, context, limits=Limits(data_bytes=1, video_bytes=int(2.8 * size)))
    assert len(list(out.glob("data/*/*.parquet"))) == 3
    assert len(list(out.glob(f"videos/{CAMERA}/*/*.mp4"))) == 2
    dataset = open_dataset(out)
    assert dataset.defects == ()
    for table in tables:
        recording = dataset.open(table.number)
        assert recording.defects == ()
        state = table.whole()["observation.state"]
        assert np.array_equal(recording.signals["observation.state"][:], stored(state))
        last = list(pictures_of(table.cameras[CAMERA]))[-1]
        assert np.abs(recording.signals[CAMERA][len(table) - 1].astype(int) - last).max() == 0


def test_movies_are_no_longer_than_lerobot_can_tell_times_apart(
    source: Source, tmp_path: Path
) -> None:
    context, tables = source
    pieces = write_tables(table_writer("lerobot"), context, tables, tmp_path)
    (tmp_path / "out").mkdir()
    assemble_v3(pieces, tmp_path / "out", context, limits=Limits(movie_s=1.5))
    assert len(list((tmp_path / "out").glob(f"videos/{CAMERA}/*/*.mp4"))) == 3


def test_an_assembly_that_was_interrupted_starts_over(source: Source, tmp_path: Path) -> None:
    context, tables = source
    writer = table_writer("lerobot_v21")
    pieces = write_tables(writer, context, tables, tmp_path)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        writer.assemble(pieces, tmp_path / name, context)
    files = sorted(
        p.relative_to(tmp_path / "first") for p in (tmp_path / "first").rglob("*.parquet")
    )
    assert files
    for file in files:
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()


def test_statistics_are_exact_over_all_rows(source: Source, dataset: Dataset) -> None:
    _, tables = source
    key = "observation.left_tactile"
    together = np.concatenate([table.whole()[key] for table in tables]).astype(np.float32)
    flat = together.reshape(len(together), -1).astype(np.float64)
    said = {name: np.ravel(values) for name, values in dataset.statistics[key].items()}
    assert said["count"] == len(flat)
    assert np.allclose(said["mean"], flat.mean(axis=0), rtol=1e-9)
    assert np.allclose(said["std"], flat.std(axis=0), rtol=1e-9)
    assert np.array_equal(said["min"], flat.min(axis=0))
    for name in ("q01", "q10", "q50", "q90", "q99"):
        assert np.allclose(said[name], np.quantile(flat, int(name[1:]) / 100, axis=0))
    total = sum(map(len, tables))
    assert dataset.statistics["index"]["max"] == total - 1
    assert np.allclose(dataset.statistics["index"]["mean"], (total - 1) / 2)


def test_statistics_of_each_episode_are_its_own(source: Source, dataset: Dataset) -> None:
    _, tables = source
    start = len(tables[0])
    claims = dataset.open(1).claims
    state = stored(tables[1].whole()["observation.state"]).astype(np.float64)
    assert np.allclose(np.ravel(claims["observation.state"]["mean"]), state.mean(axis=0))
    assert claims["index"]["min"] == start
    assert claims["index"]["max"] == start + len(tables[1]) - 1
    assert claims["episode_index"]["q50"] == 1
    pictures = np.stack(list(pictures_of(tables[1].cameras[CAMERA]))) / 255
    assert claims[CAMERA]["mean"].shape == (3, 1, 1)
    assert np.allclose(np.ravel(claims[CAMERA]["mean"]), pictures.mean(axis=(0, 1, 2)), atol=1e-9)
    assert claims[CAMERA]["count"] == len(tables[1])


def test_statistics_of_what_does_not_fit_in_memory_are_the_same(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = read_json(write_set("lerobot", *source, tmp_path / "a") / "meta/stats.json")
    monkeypatch.setattr(writing, "_IN_MEMORY_BYTES", 1)
    spilt = read_json(write_set("lerobot", *source, tmp_path / "b") / "meta/stats.json")
    assert plain.keys() == spilt.keys()
    for key, stated in plain.items():
        for name, values in stated.items():
            assert np.allclose(values, spilt[key][name], rtol=1e-9, atol=1e-12), (key, name)


def test_the_table_of_episodes_is_cut_into_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "MAX_BYTES", 1)
    monkeypatch.setattr(layouts, "_AT_ONCE", 2)
    episodes = [_arrays(index, 4 + index) for index in range(5)]
    out = write_set("lerobot", *tables_of_recordings(episodes), tmp_path)
    files = sorted(out.glob("meta/episodes/*/*.parquet"))
    assert [pq.read_table(file).num_rows for file in files] == [2, 2, 1]
    assert pq.read_table(files[2]).column("meta/episodes/file_index").to_pylist() == [2]
    dataset = open_dataset(out)
    assert dataset.defects == ()
    assert [len(dataset.open(n).signals["action"]) for n in range(5)] == [4, 5, 6, 7, 8]


def _arrays(index: int = 0, rows: int = 8, **more: Any) -> Recording:
    rng = np.random.default_rng(index)
    arrays: dict[str, NDArray[Any]] = {
        "observations/state": rng.normal(size=(rows, 3)),
        "actions/action": rng.normal(size=(rows, 3)).astype(np.float32),
    }
    return recording_of_arrays(arrays | more, index=index, task=f"task {index % 2}")


@pytest.mark.parametrize("name", NAMES)
def test_flags_whole_numbers_and_many_axes_are_kept(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(1)
    given = {
        "observations/contact": rng.random((8, 1)) > 0.5,
        "observations/code": rng.integers(-9, 9, (8, 3)).astype(np.int32),
        "observations/level": rng.integers(0, 9, (8,)).astype(np.uint8),
        "observations/cube": rng.normal(size=(8, 2, 3, 4)).astype(np.float32),
        "observations/deep": rng.normal(size=(8, 1, 2, 1, 2, 1, 2)).astype(np.float32),
    }
    context, tables = tables_of_recordings([_arrays(0, 8, **given)])
    recording = open_dataset(write_set(name, context, tables, tmp_path)).open(0)
    assert recording.defects == ()
    for key, values in tables[0].whole().items():
        found = recording.signals[key][:]
        assert found.dtype == stored(values).dtype
        assert np.array_equal(found, stored(values)), key


def test_an_episode_longer_than_a_block_is_written_in_blocks(tmp_path: Path) -> None:
    episodes = [_arrays(0, 9000), _arrays(1, 5000)]
    context, tables = tables_of_recordings(episodes)
    out = write_set("lerobot", context, tables, tmp_path)
    file = pq.ParquetFile(out / "data/chunk-000/file-000.parquet")
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [
        4096, 4096, 808, 4096, 904,
    ]  # fmt: skip
    assert read_json(out / "meta/info.json")["video_path"] is None
    dataset = open_dataset(out)
    for table in tables:
        recording = dataset.open(table.number)
        assert recording.defects == ()
        assert np.array_equal(recording.signals["action"][:], table.whole()["action"])
        assert recording.metadata["task"] == f"task {table.number}"


@pytest.mark.parametrize("name", NAMES)
def test_an_instruction_may_change_inside_an_episode(tmp_path: Path, name: str) -> None:
    context, (first, second) = tables_of_recordings([_arrays(0), _arrays(1)])
    change = np.array([0, 0, 0, 1, 1, 1, 0, 0])
    second = replace(second, instructions=("task 1", "put it down"), instruction=change)
    out = write_set(name, context, [first, second], tmp_path)
    dataset = open_dataset(out)
    assert dataset.defects == ()
    recording = dataset.open(1)
    assert recording.defects == ()
    assert recording.metadata["instructions"] == ("task 1", "put it down")
    again = table_of(recording, layout_of(recording, ExportOptions()), number=1)
    assert again.instructions == ("task 1", "put it down")
    assert np.array_equal(again.instruction, change)


def test_the_hierarchical_view_has_a_mode_in_every_row(source: Source, tmp_path: Path) -> None:
    context, tables = source
    context = replace(context, layout=replace(context.layout, mode=True))
    mode = [np.arange(len(table)) % 4 for table in tables]
    moded = [replace(table, mode=each) for table, each in zip(tables, mode, strict=True)]
    out = write_set("lerobot", context, moded, tmp_path)
    assert read_json(out / "meta/info.json")["features"]["mode"]["shape"] == [1]
    found = open_dataset(out).open(2).signals["mode"][:]
    assert found.dtype == np.int64
    assert np.array_equal(found[:, 0], mode[2])


def test_normalised_columns_have_no_unit(source: Source, tmp_path: Path) -> None:
    context, tables = source
    context = replace(context, options=ExportOptions(normalise="limits"))
    out = write_set("lerobot", context, tables[:1], tmp_path)
    assert read_json(out / "meta/info.json")["features"]["action"]["unit"] == "1"
    assert open_dataset(out).open(0).signals["action"].spec.unit == "1"


def test_an_unknown_outcome_is_not_stated(tmp_path: Path) -> None:
    out = write_set("lerobot", *tables_of_recordings([_arrays()]), tmp_path)
    columns = pq.read_schema(out / "meta/episodes/chunk-000/file-000.parquet").names
    assert "success" not in columns
    assert "success" not in open_dataset(out).open(0).metadata


def test_a_camera_with_fewer_pictures_than_rows_is_an_error(source: Source, tmp_path: Path) -> None:
    context, (table, *_) = source
    camera = table.cameras[CAMERA]
    few = [np.zeros((48, 64, 3), np.uint8)] * 4
    short = replace(camera, signal=ImageSequence(camera.signal.spec, camera.signal.time_ns, few))
    cut = replace(table, cameras={**table.cameras, CAMERA: short})
    with pytest.raises(EpisodeError, match="ends before picture"):
        write_tables(table_writer("lerobot"), context, [cut], tmp_path)


@pytest.mark.slow
def test_a_real_set_of_v2_becomes_one_of_v3(shared_data: Path, tmp_path: Path) -> None:
    context, tables = tables_of(shared_data / "lerobot" / "gr1_picknplace_v20")
    out = write_set("lerobot", context, tables, tmp_path)
    _is_the_same(context, tables, open_dataset(out))


@pytest.mark.slow
def test_episodes_of_a_real_set_of_v3_become_one_of_v21(shared_data: Path, tmp_path: Path) -> None:
    given = open_dataset(shared_data / "lerobot" / "so101_v30")
    chosen = [given.open(number) for number in (4, 1)]
    context, tables = tables_of_recordings(chosen)
    out = write_set("lerobot_v21", context, tables, tmp_path)
    assert read_json(out / "meta/info.json")["codebase_version"] == "v2.1"
    _is_the_same(context, tables, open_dataset(out))


def _is_the_same(context: ExportContext, tables: list[EpisodeTable], dataset: Dataset) -> None:
    assert dataset.defects == ()
    assert len(dataset.episodes) == len(tables)
    for table in tables:
        recording = dataset.open(table.number)
        assert recording.defects == ()
        assert recording.metadata["instruction"] == table.text
        for key, values in table.whole().items():
            assert np.array_equal(recording.signals[key][:], stored(values))
            assert recording.signals[key].spec.components == context.layout.columns[key].names
        for key, camera in table.cameras.items():
            for row in (0, len(table) // 2, len(table) - 1):
                expected = np.asarray(camera.signal[int(camera.numbers[row])], int)
                assert np.abs(recording.signals[key][row].astype(int) - expected).mean() < 4


def test_a_broken_unit_or_shape_in_info_json_is_ignored(source: Source, tmp_path: Path) -> None:
    out = write_set("groot", *source, tmp_path)
    info = read_json(out / "meta/info.json")
    features = info["features"]
    features["observation.left_tactile"]["original_shape"] = [16, 17]
    features["observation.state"]["unit"] = ["rad", 7]
    features["action"]["unit"] = "furlong"
    (out / "meta/info.json").write_text(json.dumps(info), "utf-8")
    try:
        recording = open_dataset(out).open(0)
    except CorporealError:
        pytest.fail("extra keys that are broken keep nobody from reading the numbers")
    assert recording.signals["observation.left_tactile"][:].shape[1:] == (256,)
    assert set(recording.signals["action"].spec.unit) == {"rad"}
