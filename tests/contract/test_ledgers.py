"""Every reader accounts for all that its source has, as a reader that is not ours lists it."""

from __future__ import annotations

import csv
import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mcap.reader import make_reader
from tests.exchange.formats.test_motion_csv import steps
from tests.exchange.formats.test_unitree_json import step
from tests.exchange.formats.test_unitree_json import write as write_unitree
from tests.exchange.formats.test_zarr import write as write_zarr
from tests.exchange.lerobot_sets import Recipe, write_v2, write_v3
from tests.exchange.small_sets import write_episodes

from corporeal.episode.recording import Dataset, Ledger, SourceItem
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset

LEROBOT = ("gr1_picknplace_v20", "g1_inspire_v21_part", "so101_v30")


def ledger_of(dataset: Dataset) -> dict[str, SourceItem]:
    """The items of a dataset by name; fails when a name is there twice or nothing is said of it."""
    ledger = sum((recording.ledger for recording in dataset), dataset.ledger)
    names = [item.name for item in ledger.items]
    assert len(names) == len(set(names))
    for recording in dataset:
        own = [item.name for item in recording.ledger.items]
        assert len(own) == len(set(own))
    for item in ledger.items:
        assert bool(item.reason) == bool(item.lacking), item
        assert item.taken_as or item.lacking == item.episodes, item
    return {item.name: item for item in ledger.items}


def lerobot_items(root: Path) -> set[str]:
    """What info.json names, and the columns that pyarrow finds."""
    named = set(json.loads((root / "meta" / "info.json").read_text())["features"])
    for path in (root / "data").rglob("*.parquet"):
        named |= set(pq.read_schema(path).names)
    return named


def data_tables(root: Path) -> Iterator[pa.Table]:
    """All tables of a dataset."""
    for path in sorted((root / "data").rglob("*.parquet")):
        yield pq.read_table(path)


@pytest.mark.parametrize("name", LEROBOT)
def test_lerobot_sets_are_accounted_for_column_by_column(shared_data: Path, name: str) -> None:
    root = shared_data / "lerobot" / name
    items = ledger_of(open_dataset(root))
    assert items.keys() == lerobot_items(root)
    rows = sum(table.num_rows for table in data_tables(root))
    for table in data_tables(root):
        assert all(items[column].samples == rows for column in table.column_names)
    movies = {path.parent.name for path in root.glob("videos/*/*/*.mp4")}
    movies |= {path.parent.parent.name for path in root.glob("videos/*/*/*.mp4")}
    for item in items.values():
        if item.kind == "camera":
            assert bool(item.taken_as) == (item.name in movies), item


def test_a_camera_that_only_info_json_names_is_lost(shared_data: Path) -> None:
    items = ledger_of(open_dataset(shared_data / "lerobot" / "gr1_picknplace_v20"))
    camera = items["observation.images.egoview"]
    assert camera.lost
    assert not camera.taken_as
    assert (camera.reason or "").startswith("movie missing: videos/")
    assert Ledger(tuple(items.values())).lost_whole == (camera,)


@pytest.mark.parametrize("write", [write_v2, write_v3])
def test_movies_that_are_gone_or_elsewhere_are_named(tmp_path: Path, write: Any) -> None:
    root = write(tmp_path / "set", Recipe(camera=True))
    assert not Ledger(tuple(ledger_of(open_dataset(root)).values())).not_taken
    (root / "videos").rename(root / "video")
    items = ledger_of(open_dataset(root))
    cameras = [item for item in items.values() if item.kind == "camera"]
    assert cameras
    assert all(item.lost and not item.taken_as for item in cameras)
    assert all("is it in video?" in (item.reason or "") for item in cameras)
    shutil.rmtree(root / "video")
    reasons = {item.reason for item in ledger_of(open_dataset(root)).values() if item.lost}
    assert all((reason or "").endswith("is not here") for reason in reasons)
    assert len(reasons) == len(cameras)


def test_columns_that_nobody_names_or_knows_are_not_taken(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    for path in (root / "data").rglob("*.parquet"):
        table = pq.read_table(path)
        for name, value in (("stray", 1.0), ("note", "a text"), ("pair", {"a": 1})):
            table = table.append_column(name, pa.array([value] * table.num_rows))
        pq.write_table(table, path)
    info = json.loads((root / "meta" / "info.json").read_text())
    info["features"]["pair"] = {"dtype": "pair", "shape": [1], "names": None}
    info["features"]["ghost"] = {"dtype": "float32", "shape": [1], "names": None}
    (root / "meta" / "info.json").write_text(json.dumps(info))
    items = ledger_of(open_dataset(root))
    assert items.keys() == lerobot_items(root)
    lost = {item.name: item.reason or "" for item in Ledger(tuple(items.values())).lost_whole}
    assert lost.keys() == {"stray", "note", "pair", "ghost"}
    assert lost["stray"] == "info.json does not name it"
    assert lost["note"] == "unknown type string"
    assert lost["pair"].startswith("unknown type struct")
    assert lost["ghost"] == "info.json names it, but the table has no such column"


def hdf5_items(path: Path, below: str) -> dict[str, int]:
    """Every dataset of groups that match, and how many rows all of them have, as h5py tells."""
    counts: dict[str, int] = {}
    with h5py.File(path) as file:
        groups = [file[below][name] for name in file[below]] if below else [file]
        for group in groups:

            def add(name: str, item: Any) -> None:
                if isinstance(item, h5py.Dataset):
                    counts[name] = counts.get(name, 0) + (len(item) if item.ndim else 1)

            group.visititems(add)
    return counts


@pytest.mark.parametrize("folder", ["robomimic", "robosuite_human"])
def test_hdf5_files_are_accounted_for_array_by_array(shared_data: Path, folder: str) -> None:
    files = sorted((shared_data / "hdf5_rlds" / folder).rglob("*.hdf5"))
    assert files
    for path in files:
        items = ledger_of(open_dataset(path))
        counts = hdf5_items(path, "data")
        with h5py.File(path) as file:
            beside = {f"mask/{name}" for name in file["mask"]} if "mask" in file else set()
        assert items.keys() == counts.keys() | beside | {"model_file"}, path
        assert {name: items[name].samples for name in counts} == counts
        observed = [item for item in items.values() if item.taken_as and item.samples]
        assert any(item.name.startswith(("obs/", "states")) for item in observed), path


def test_a_link_and_a_text_in_hdf5_are_lost_aloud(tmp_path: Path) -> None:
    path = tmp_path / "set.hdf5"
    with h5py.File(path, "w") as file:
        demo = file.create_group("data/demo_0")
        demo["actions"] = np.zeros((10, 3))
        demo["obs/state"] = np.zeros((10, 3))
        demo["obs/word"] = np.array([b"one"] * 10)
        demo["obs/cube"] = np.zeros((10, 2, 2, 2))
        demo["obs/elsewhere"] = h5py.ExternalLink("other.hdf5", "/data")
        file["data/other"] = np.zeros(3)
    items = ledger_of(open_dataset(path))
    lost = {item.name for item in Ledger(tuple(items.values())).lost_whole}
    assert lost == {"obs/word", "obs/cube", "obs/elsewhere", "data/other"}
    assert {name for name, item in items.items() if item.taken_as} == {"actions", "obs/state"}


def test_aloha_files_are_accounted_for_array_by_array(tmp_path: Path) -> None:
    path = tmp_path / "episode_0.hdf5"
    with h5py.File(path, "w") as file:
        file["action"] = file["observations/qpos"] = np.zeros((10, 14))
        file["observations/images/top"] = np.zeros((10, 8, 8, 3), np.uint8)
        file["compress_len"] = np.zeros((1, 10))
        file["rewards"] = np.zeros(10)
    items = ledger_of(open_dataset(path))
    assert items.keys() == hdf5_items(path, "").keys()
    assert items["observations/images/top"].kind == "camera"
    assert [item.name for item in Ledger(tuple(items.values())).lost_whole] == ["rewards"]


def leaves_of(node: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths of all features of features.json that have no features of their own."""
    if "sequence" in node:
        yield from leaves_of(node["sequence"]["feature"], path)
    elif "featuresDict" in node:
        for name, child in node["featuresDict"]["features"].items():
            yield from leaves_of(child, f"{path}/{name}")
    else:
        yield path.removeprefix("/").removeprefix("steps/")


def test_rlds_sets_are_accounted_for_feature_by_feature(shared_data: Path, tmp_path: Path) -> None:
    root = tmp_path / "bridge_dataset"
    shutil.copytree(shared_data / "hdf5_rlds" / "rlds_bridge" / "bridge_dataset", root)
    (path,) = root.rglob("features.json")
    document = json.loads(path.read_text())
    items = ledger_of(open_dataset(root))
    assert items.keys() == set(leaves_of(document))
    assert not Ledger(tuple(items.values())).lost_whole
    step_features = document["featuresDict"]["features"]["steps"]["sequence"]["feature"]
    step_features["featuresDict"]["features"] |= {
        "sound": {"pythonClassName": "tensorflow_datasets.core.features.audio_feature.Audio"},
        "absent": {"tensor": {"dtype": "float32", "shape": {"dimensions": ["3"]}}},
    }
    path.write_text(json.dumps(document))
    items = ledger_of(open_dataset(root))
    assert items.keys() == set(leaves_of(document))
    lost = Ledger(tuple(items.values())).lost_whole
    assert {item.name: item.reason for item in lost} == {
        "sound": "unknown type Audio",
        "absent": "features.json names it, but the record has no values",
    }


def test_zarr_stores_are_accounted_for_array_by_array(tmp_path: Path) -> None:
    path = write_zarr(tmp_path / "set.zarr")
    items = ledger_of(open_dataset(path))
    assert items.keys() == {file.parent.name for file in (path / "data").rglob(".zarray")}


def test_motion_tables_are_accounted_for_column_by_column(shared_data: Path) -> None:
    paths = [path for folder in ("g1_csv_xyzw", "g1_csv_wxyz")
             for path in (shared_data / "retarget" / folder).rglob("*.csv")]  # fmt: skip
    assert len(paths) > 2
    for path in paths:
        items = ledger_of(open_dataset(path))
        columns: list[int] = []
        for name in items:
            first, last = name.removeprefix("columns ").split(" to ")
            columns += range(int(first), int(last) + 1)
        rows = list(csv.reader(path.read_text().splitlines()))
        assert columns == list(range(1, len(rows[0]) + 1))
        assert {item.samples for item in items.values()} == {len(rows)}


@pytest.mark.parametrize("folder", ["isaaclab_amp", "locomujoco"])
def test_motion_archives_are_accounted_for_array_by_array(shared_data: Path, folder: str) -> None:
    for path in sorted((shared_data / "retarget" / folder).rglob("*.npz")):
        with zipfile.ZipFile(path) as archive:
            named = {name.removesuffix(".npy") for name in archive.namelist()}
        items = ledger_of(open_dataset(path))
        assert items.keys() == named, path
        assert not Ledger(tuple(items.values())).lost_whole


def test_an_array_of_a_motion_that_fits_no_frame_is_lost_aloud(tmp_path: Path) -> None:
    table = steps("g1")
    path = tmp_path / "walk.npz"
    motion: dict[str, Any] = {
        "root_pos": table[:, :3],
        "root_rot": table[:, 3:7],
        "dof_pos": table[:, 7:],
    }
    more: dict[str, Any] = {
        "contact": np.zeros((len(table), 2)),
        "heights": np.zeros((300, 300)),
        "fps": 50,
    }
    np.savez(path, **motion, **more, author="me")
    items = ledger_of(open_dataset(path))
    assert items.keys() == set(np.load(path).files)
    assert [item.name for item in Ledger(tuple(items.values())).lost_whole] == ["heights"]
    assert items["contact"].taken_as == ("debug/contact",)
    assert items["author"].taken_as == ("metadata author",)


def test_episodes_and_logs_of_our_own_are_accounted_for(tmp_path: Path) -> None:
    episodes = write_episodes(tmp_path / "episodes", 1, seconds=0.3, size=(32, 48))
    items = ledger_of(open_dataset(episodes))
    with h5py.File(episodes / "e0000.h5") as file:
        stored: set[str] = set()
        file.visit(stored.add)
    streams = {name.removesuffix("/time_ns") for name in stored if name.endswith("/time_ns")}
    arrays = {name for name, item in items.items() if item.kind != "document"}
    assert arrays == {name.removeprefix("streams/") for name in streams}
    assert all(item.taken_as for item in items.values())
    log = export(episodes, tmp_path / "log", "mcap").out / "episode_000000.mcap"
    with log.open("rb") as opened:
        summary = make_reader(opened).get_summary()
        assert summary is not None
        assert summary.statistics is not None
        counts = {channel.topic: summary.statistics.channel_message_counts[number]
                  for number, channel in summary.channels.items()}  # fmt: skip
    topics = {name: item for name, item in ledger_of(open_dataset(log)).items()
              if item.kind == "topic"}  # fmt: skip
    assert topics.keys() == counts.keys()
    assert all(item.samples == counts[name] for name, item in topics.items() if item.taken_as)
    assert all((item.reason or "").startswith("made from") for item in topics.values()
               if not item.taken_as)  # fmt: skip


def test_what_a_step_of_json_has_beside_the_known_is_lost_aloud(tmp_path: Path) -> None:
    folder = tmp_path / "episode_0001"
    write_unitree(folder, [step(folder, number, smell=[1.0]) for number in range(4)])
    items = ledger_of(open_dataset(tmp_path))
    lost = Ledger(tuple(items.values())).lost_whole
    assert [item.name for item in lost] == ["smell"]
