"""Zarr of diffusion policy by others is read, and hostile ones are refused before memory is."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError
from corporeal.exchange.formats.zarr import recognises
from corporeal.exchange.opening import open_dataset

ENDS = (3, 7, 12)


def write(path: Path, *, codec: Any = "default", dtype: str = "<f4") -> Path:
    """A store as push-T's: state (T, 5), action (T, 2), float pictures in chunks of five."""
    root: Any = zarr.open_group(path, mode="w", zarr_format=2)
    data, meta = root.create_group("data"), root.create_group("meta")
    packed = {} if codec == "default" else {"compressors": codec}
    rows = np.arange(ENDS[-1], dtype=np.float32)

    def put(group: Any, name: str, values: Any, chunks: tuple[int, ...]) -> None:
        array = group.create_array(
            name, shape=values.shape, chunks=chunks, dtype=values.dtype, **packed
        )
        array[...] = values

    put(data, "state", np.tile(rows[:, None], 5).astype(dtype), (5, 2))
    put(data, "action", np.tile(rows[:, None] + 100, 2), (4, 2))
    put(data, "img", np.tile(rows[:, None, None, None], (8, 6, 3)), (5, 8, 6, 3))
    put(data, "keypoint", np.zeros((ENDS[-1], 9, 2), np.float32), (12, 9, 2))
    put(meta, "episode_ends", np.array(ENDS), (3,))
    return path


def change(path: Path, **fields: Any) -> None:
    context = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps({**context, **fields}))


def zipped(path: Path, target: Path, prefix: str = "") -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for file in sorted(path.rglob("*")):
            if file.is_file():
                archive.write(file, prefix + file.relative_to(path).as_posix())
    return target


def test_episodes_are_cut_at_their_ends(tmp_path: Path) -> None:
    dataset = open_dataset(write(tmp_path / "pusht.zarr"))
    assert dataset.format == "zarr"
    assert dataset.episodes == (0, 1, 2)
    assert dataset.facts == {"rate_hz": 10.0, "rate_stated": False}
    recording = dataset.open(1)
    np.testing.assert_array_equal(recording.signals["state"][:][:, 4], [3, 4, 5, 6])
    np.testing.assert_array_equal(recording.signals["action"][:][:, 0], [103, 104, 105, 106])
    assert recording.signals["action"].spec.group == "actions"
    assert recording.signals["keypoint"].spec.shape == (9, 2)
    assert recording.signals["state"].time_ns[1] == 100_000_000
    assert recording.regridded
    with pytest.raises(EpisodeError, match="episode 3 is not here"):
        dataset.open(3)


def test_pictures_in_floats_are_shown_and_read_when_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path / "pusht.zarr")
    stills = open_dataset(path).open(2).signals["img"]
    assert isinstance(stills, ImageSequence)
    assert stills.spec.shape == (8, 6, 3)
    assert stills[:].dtype == np.uint8
    np.testing.assert_array_equal(stills[:][:, 0, 0, 0], [7, 8, 9, 10, 11])
    assert len(list(stills.frames())) == 5
    for chunk in (path / "data/img").glob("[0-9]*"):
        chunk.unlink()
    assert not open_dataset(path).open(2).signals["img"][0].any()


@pytest.mark.parametrize("prefix", ["", "pusht/pusht_cchi_v7_replay.zarr/"])
def test_a_zip_file_is_read_like_a_folder(tmp_path: Path, prefix: str) -> None:
    path = zipped(write(tmp_path / "x.zarr"), tmp_path / "pusht.zarr.zip", prefix)
    recording = open_dataset(path).open(1)
    np.testing.assert_array_equal(recording.signals["state"][:][:, 0], [3, 4, 5, 6])
    assert recording.signals["img"][1].max() == 4


def test_the_only_store_in_a_folder_is_taken(tmp_path: Path) -> None:
    write(tmp_path / "pusht.zarr")
    assert recognises(tmp_path)
    assert len(open_dataset(tmp_path).episodes) == 3


@pytest.mark.parametrize(
    "codec",
    [None, numcodecs.Blosc("lz4", 5, 1), numcodecs.Zstd(3), numcodecs.LZ4(), numcodecs.Zlib(1),
     numcodecs.GZip(1)],
    ids=["plain", "blosc", "zstd", "lz4", "zlib", "gzip"],
)  # fmt: skip
def test_common_compressors_are_read(tmp_path: Path, codec: Any) -> None:
    path = write(tmp_path / "x.zarr", codec=codec, dtype=">f8")
    np.testing.assert_array_equal(
        open_dataset(path).open(0).signals["state"][:], np.tile(np.arange(3.0)[:, None], 5)
    )


def test_seconds_of_others_are_capture_times(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zarr")
    times = 1.7e9 + np.arange(ENDS[-1]) * 0.125
    root: Any = zarr.open_group(path, mode="a", zarr_format=2)
    root["data"].create_array("timestamp", shape=times.shape, chunks=(12,), dtype="f8")[:] = times
    recording = open_dataset(path).open(1)
    assert "timestamp" not in recording.signals
    assert not recording.regridded
    assert recording.metadata["fps"] == recording.signals["state"].spec.rate_hz == 8.0
    assert recording.signals["state"].time_ns.tolist() == [0, 125_000_000, 250_000_000, 375_000_000]


@pytest.mark.parametrize("ends", [[3, 3, 12], [0, 7, 12], [7, 3, 12], [3, 7, 11], [3, 7, 13], []])
def test_ends_that_do_not_rise_or_match_are_refused(tmp_path: Path, ends: list[int]) -> None:
    path = write(tmp_path / "x.zarr")
    root: Any = zarr.open_group(path, mode="a", zarr_format=2)
    del root["meta"]["episode_ends"]
    array = root["meta"].create_array(
        "episode_ends", shape=(len(ends),), chunks=(4,), dtype="i8", overwrite=True
    )
    array[:] = np.array(ends, np.int64)
    with pytest.raises(EpisodeError, match=r"episode_ends|expected 1[13]"):
        open_dataset(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dtype": "|O"}, "expected numbers"),
        ({"filters": [{"id": "pickle"}]}, "got filters"),
        ({"chunks": [1 << 39, 2]}, "chunks"),
        ({"chunks": [4]}, "as many chunks"),
        ({"chunks": [0, 2]}, "sizes"),
        ({"shape": [12, -1]}, "sizes"),
        ({"shape": "12"}, "sizes"),
        ({"order": "Z"}, "makes no sense"),
        ({"compressor": "blosc"}, "makes no sense"),
        ({"fill_value": "many"}, "fill value"),
        ({"zarr_format": 3}, "expected format 2"),
    ],
)
def test_a_strange_array_is_refused(tmp_path: Path, fields: Any, message: str) -> None:
    path = write(tmp_path / "x.zarr")
    change(path / "data/action", **fields)
    with pytest.raises(EpisodeError, match=message):
        open_dataset(path)


def test_a_codec_that_could_run_code_is_never_run(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zarr")
    change(path / "data/action", compressor={"id": "pickle"})
    with pytest.raises(EpisodeError, match="packed with 'pickle'"):
        open_dataset(path).open(0)


def test_an_array_too_large_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zarr")
    change(path / "data/action", shape=[12, 1 << 35], chunks=[1, 1 << 20])
    with pytest.raises(EpisodeError, match="rows of"):
        open_dataset(path).open(0)


def test_a_chunk_that_unpacks_to_more_than_it_should_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zarr", codec=numcodecs.Zlib(1))
    (path / "data/action/0.0").write_bytes(numcodecs.Zlib(9).encode(bytes(1 << 20)))
    with pytest.raises(EpisodeError, match="has 33 bytes; expected 32"):
        open_dataset(path).open(0)


def test_a_damaged_chunk_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zarr", codec=numcodecs.Blosc("zstd", 3, 0))
    chunk = path / "data/action/0.0"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with pytest.raises(EpisodeError, match=r"data/action/0\.0 cannot be unpacked"):
        open_dataset(path).open(0)


def test_a_link_out_of_the_store_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zarr", codec=None)
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(32))
    (path / "data/action/0.0").unlink()
    (path / "data/action/0.0").symlink_to(secret)
    with pytest.raises(EpisodeError, match="is a link out of"):
        open_dataset(path).open(0)


def test_an_episode_too_long_to_be_one_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zarr", codec=None)
    (path / "meta/episode_ends/0").write_bytes(np.array([3, 7, 1 << 40], "<i8").tobytes())
    for name in ("state", "action", "img", "keypoint"):
        context = json.loads((path / "data" / name / ".zarray").read_text())
        change(path / "data" / name, shape=[1 << 40, *context["shape"][1:]])
    with pytest.raises(EpisodeError, match="does not rise, or by more than"):
        open_dataset(path)
