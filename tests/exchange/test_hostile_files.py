"""Files that ask for too much time or memory, and those that are no files, end in a sentence."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.lerobot_sets import read_json, write_json, write_v2

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange import table
from corporeal.exchange.foreign_stream import array_stream
from corporeal.exchange.json_text import read_json as read_foreign_json
from corporeal.exchange.layout import layout_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.zarr_store import ZipStore
from corporeal.schema import Stream


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "info.json"
    os.mkfifo(pipe)
    with pytest.raises(EpisodeError, match="is a FIFO; expected a file"):
        read_foreign_json(pipe)
    endless = tmp_path / "endless.json"
    endless.symlink_to("/dev/zero")
    with pytest.raises(EpisodeError, match="is a device; expected a file"):
        read_foreign_json(endless)


@pytest.mark.parametrize("fps", [1e6, 1001, 0, "30"])
def test_a_rate_that_no_camera_has_is_refused(tmp_path: Path, fps: object) -> None:
    root = write_v2(tmp_path / "set")
    path = root / "meta" / "info.json"
    write_json(path, {**read_json(path), "fps": fps})
    with pytest.raises(EpisodeError, match="expected frames per second, at most 1000"):
        open_dataset(root)


def test_a_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    path = root / "meta" / "info.json"
    write_json(path, {**read_json(path), "data_path": "a" * 100_000})
    with pytest.raises(EpisodeError, match="a name of 100000 letters"):
        open_dataset(root)


def test_numbers_that_cannot_be_a_stream_are_answered_in_a_sentence() -> None:
    values = np.zeros((3, *[1] * 9))
    with pytest.raises(EpisodeError, match="cannot be a stream: stream 'thing' has 9 axes"):
        array_stream(label="thing", values=values, names=None, robot=None, rate_hz=30.0)


def test_a_grid_has_no_more_rows_than_samples_allow() -> None:
    spec = Stream.model_validate(
        {"name": "state", "group": "observations", "shape": (1,), "rate_hz": 1000}
    )
    stamps = np.array([0, 1_000_000, 10**15], np.int64)
    signal = ArraySignal(spec, stamps, np.zeros((3, 1), np.float32))
    recording = Recording(id="x", source=Path("x"), index=0, signals={"state": signal})
    layout = layout_of(recording, ExportOptions(rate_hz=1000))
    with pytest.raises(EpisodeError, match="rows, far more than it has samples"):
        table.table_of(recording, layout, number=0)


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_zip_of_zarr_is_answered_in_a_sentence(tmp_path: Path, packing: int) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("data/.zgroup", bytes(range(256)) * 40)
    data = bytearray(path.read_bytes())
    data[60:90] = b"\x55" * 30
    path.write_bytes(data)
    with zipfile.ZipFile(path) as archive, pytest.raises(EpisodeError, match="cannot be read"):
        ZipStore(path, archive).read("data/.zgroup", 1 << 20)


@pytest.mark.parametrize("name", ["meta/tasks.jsonl", "data"])
def test_a_dataset_takes_nothing_from_outside_its_folder(tmp_path: Path, name: str) -> None:
    root = write_v2(tmp_path / "set")
    assert len(open_dataset(root)) > 0
    (root / name).rename(tmp_path / "elsewhere")
    (root / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EpisodeError, match="is a link out of"):
        open_dataset(root)
