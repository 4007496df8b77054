"""One table of all readers: what another program lists in a file, the ledger has, and no less."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
import zarr
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from mcap.reader import make_reader
from tests.exchange.formats import test_d4rl, test_humanoid_everyday, test_rh20t, test_unitree_json
from tests.exchange.formats.test_zarr import write as write_zarr
from tests.exchange.small_sets import write_episodes

from corporeal.episode.recording import Ledger
from corporeal.exchange.conversion import export
from corporeal.exchange.format import formats
from corporeal.exchange.opening import open_dataset
from corporeal.retargeting.reader import read_motion, readers

Sample = tuple[Path, set[str]]
"""A file or folder, and the names of everything in it by a program that is not ours."""


def hdf5_names(path: Path, below: str = "") -> set[str]:
    """Every dataset, as h5py tells; below a group, those of all its members together."""
    names: set[str] = set()
    with h5py.File(path) as file:
        for group in [file[below][name] for name in file[below]] if below else [file]:
            group.visititems(
                lambda name, item: names.add(name) if isinstance(item, h5py.Dataset) else None
            )
    return names


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """Where JSON has numbers, lists or text."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}".strip("."))
    elif value not in (None, [], ""):
        yield path


def aloha(folder: Path, _: Path) -> Sample:
    path = folder / "episode_0.hdf5"
    with h5py.File(path, "w") as file:
        file["action"] = file["observations/qpos"] = np.zeros((10, 14))
        file["observations/qvel"] = np.zeros((10, 14))
        file["observations/images/top"] = np.zeros((10, 8, 8, 3), np.uint8)
        file["stray/thing"] = np.zeros(10)
    return path, hdf5_names(path)


def d4rl(folder: Path, _: Path) -> Sample:
    path = test_d4rl.write_steps(folder / "hopper.hdf5")
    with h5py.File(path, "a") as file:
        file["stray"] = np.zeros(60)
    return path, hdf5_names(path)


def episodes(folder: Path, _: Path) -> Sample:
    path = write_episodes(folder / "set", 1, seconds=0.3, size=(32, 48))
    with h5py.File(path / "e0000.h5") as file:
        stored: set[str] = set()
        file.visit(stored.add)
        documents = {name.removesuffix("_hash") for name in file.attrs if name.endswith("_hash")}
    streams = {name.removesuffix("/time_ns") for name in stored if name.endswith("/time_ns")}
    return path, {name.removeprefix("streams/") for name in streams} | documents


def humanoid_everyday(folder: Path, _: Path) -> Sample:
    episode = folder / "task" / "episode_0"
    steps = [test_humanoid_everyday.step(episode, number) for number in range(3)]
    for step in steps:
        step["states"]["motor_temperature"] = [30.0] * 29
    test_humanoid_everyday.write(episode, steps)
    names = {name for step in steps for name in leaves(step)} - {"time", "robot_type"}
    # Two quantities are one stream.
    pose = {"states.odometry.position", "states.odometry.quat"}
    return folder / "task", (names - pose) | {"states.odometry"}


def lerobot(_: Path, data: Path) -> Sample:
    root = data / "lerobot" / "gr1_picknplace_v20"
    named = set(json.loads((root / "meta" / "info.json").read_text())["features"])
    for path in (root / "data").rglob("*.parquet"):
        named |= set(pq.read_schema(path).names)
    return root, named


def mcap(folder: Path, _: Path) -> Sample:
    recorded = write_episodes(folder / "set", 1, seconds=0.3, size=(32, 48))
    log = export(recorded, folder / "log", "mcap").out / "episode_000000.mcap"
    with log.open("rb") as file:
        summary = make_reader(file).get_summary()
        assert summary is not None
        attached = {each.name.removesuffix(".json") for each in summary.attachment_indexes}
    return log, {channel.topic for channel in summary.channels.values()} | attached


class _Wrapper:
    """What joblib writes in front of the bytes of an array."""


_PurePickle: Any = pickle._Unpickler


class _JoblibUnpickler(_PurePickle):  # type: ignore[misc]
    """Reads joblib's pickles: plain values, and arrays whose bytes follow in the file."""

    dispatch: ClassVar[dict[int, Any]] = dict(_PurePickle.dispatch)

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._file = file

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("joblib.numpy_pickle", "NumpyArrayWrapper"):
            return _Wrapper
        if module.split(".")[0] == "numpy" and name in ("ndarray", "dtype", "scalar"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")

    def load_build(self) -> None:
        _PurePickle.load_build(self)
        wrapper = self.stack[-1]
        if isinstance(wrapper, _Wrapper):
            facts = vars(wrapper)
            if facts.get("numpy_array_alignment_bytes"):
                self._file.read(self._file.read(1)[0])
            data = self._file.read(int(np.prod(facts["shape"])) * facts["dtype"].itemsize)
            self.stack[-1] = np.frombuffer(data, facts["dtype"]).reshape(facts["shape"])

    dispatch[pickle.BUILD[0]] = load_build


def motion_arrays(_: Path, data: Path) -> Sample:
    path = next(iter(sorted((data / "retarget" / "isaaclab_amp").rglob("*.npz"))))
    with zipfile.ZipFile(path) as archive:
        return path, {name.removesuffix(".npy") for name in archive.namelist()}


def motion_csv(_: Path, data: Path) -> Sample:
    (path,) = (data / "retarget" / "g1_csv_xyzw").rglob("*.csv")
    width = len(next(csv.reader(path.read_text().splitlines())))
    return path, {f"column {number}" for number in range(1, width + 1)}


def rh20t(folder: Path, _: Path) -> Sample:
    scene = test_rh20t.write(folder / "set" / "task_0001_user_0007_scene_0002_cfg_0005")
    (scene / "transformed" / "extra.npy").write_bytes(b"")
    (scene / "notes.txt").write_text("a word")
    tables = {path for path in scene.rglob("*.npy") if path.parent.name == "transformed"}
    others = {path for path in scene.rglob("*") if path.is_file()} - tables
    names = {path.relative_to(scene).as_posix() for path in tables | others}
    return folder / "set", names - {"metadata.json"}


def robomimic(_: Path, data: Path) -> Sample:
    path = sorted((data / "hdf5_rlds" / "robomimic").rglob("*.hdf5"))[0]
    names = hdf5_names(path, "data")
    with h5py.File(path) as file:
        names |= {f"mask/{name}" for name in file["mask"]} if "mask" in file else set()
    return path, names | {"model_file"}


def _example_type() -> Any:
    """tf.train.Example, as its public definition has it."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="t", syntax="proto3")
    kinds = (("BytesList", 12), ("FloatList", 2), ("Int64List", 3))
    for name, kind in kinds:
        file.message_type.add(name=name).field.add(name="value", number=1, label=3, type=kind)
    feature = file.message_type.add(name="Feature")
    for number, (name, _) in enumerate(kinds, 1):
        feature.field.add(name=name, number=number, label=1, type=11, type_name=f".t.{name}")
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=9)
    entry.field.add(name="value", number=2, label=1, type=11, type_name=".t.Feature")
    features.field.add(
        name="feature", number=1, label=3, type=11, type_name=".t.Features.FeatureEntry"
    )
    example = file.message_type.add(name="Example")
    example.field.add(name="features", number=1, label=1, type=11, type_name=".t.Features")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Example"))


def rlds(_: Path, data: Path) -> Sample:
    root = data / "hdf5_rlds" / "rlds_bridge" / "bridge_dataset"
    kind = _example_type()
    names: set[str] = set()
    for path in root.rglob("*.tfrecord*"):
        stream = io.BytesIO(path.read_bytes())
        while head := stream.read(12):
            record = kind.FromString(stream.read(int.from_bytes(head[:8], "little")))
            stream.read(4)
            names |= {name.removeprefix("steps/") for name in record.features.feature}
    assert names
    return root, names


def unitree_json(folder: Path, _: Path) -> Sample:
    episode = folder / "task" / "episode_0001"
    steps = [test_unitree_json.step(episode, number, smell=[1.0]) for number in range(4)]
    for step in steps:
        step["states"]["left_arm"]["heat"] = [40.0] * 7
        step["states"]["body"]["qvel"] = [0.1] * 29
    test_unitree_json.write(episode, steps)
    return folder / "task", {name for step in steps for name in leaves(step)}


def zarr_store(folder: Path, _: Path) -> Sample:
    path = write_zarr(folder / "set.zarr")
    group = zarr.open_group(str(path), mode="r")
    data = group["data"]
    assert isinstance(data, zarr.Group)
    return path, set(data.array_keys())


DATASETS: dict[str, Callable[[Path, Path], Sample]] = {
    "aloha": aloha, "d4rl": d4rl, "episodes": episodes, "humanoid_everyday": humanoid_everyday,
    "lerobot": lerobot, "mcap": mcap, "motion_arrays": motion_arrays, "motion_csv": motion_csv,
    "rh20t": rh20t, "rlds": rlds, "robomimic": robomimic, "unitree_json": unitree_json,
    "zarr": zarr_store,
}  # fmt: skip


def _alone(name: str) -> set[str]:
    return {name}


def _columns(name: str) -> set[str]:
    """`columns 1 to 3` one by one."""
    span = re.fullmatch(r"columns (\d+) to (\d+)", name)
    return {f"column {n}" for n in range(int(span[1]), int(span[2]) + 1)} if span else {name}


def _steps(name: str) -> set[str]:
    """What a quantity of Unitree's steps stands side by side for."""
    if name in ("qpos", "action"):
        side = "actions" if name == "action" else "states"
        return {f"{side}.{part}.qpos" for part in ("left_arm", "right_arm", "left_ee",
                                                          "right_ee")}  # fmt: skip
    return {name}


def _scene(name: str) -> set[str]:
    """The files of a scene that a table or a camera is read from."""
    if name.startswith("cam_"):
        return {f"{name}/color.mp4", f"{name}/timestamps.npy"}
    table = re.match(r"(transformed/\w+)(?:\.(?!npy)\w+)*$", name)
    return {f"{table[1]}.npy"} if table else {name}


SPELT: dict[str, Callable[[str], set[str]]] = {
    "motion_csv": _columns, "unitree_json": _steps, "rh20t": _scene,
}  # fmt: skip


def test_every_format_that_is_read_is_in_the_table() -> None:
    assert DATASETS.keys() == {name for name, each in formats().items() if each.read is not None}


@pytest.mark.parametrize("name", DATASETS)
def test_a_ledger_has_every_item_of_its_source(
    name: str, tmp_path: Path, shared_data: Path
) -> None:
    path, listed = DATASETS[name](tmp_path, shared_data)
    dataset = open_dataset(path)
    assert dataset.format == name
    ledger = sum((recording.ledger for recording in dataset), dataset.ledger)
    spell = SPELT.get(name, _alone)
    ours = {each for item in ledger.items for each in spell(item.name)}
    assert listed - ours == set(), "in the file, and not in the ledger"
    assert ours - listed == set(), "in the ledger, and not in the file"
    for item in ledger.items:
        assert item.taken_as or item.reason, item


def test_strays_are_lost_aloud(tmp_path: Path, shared_data: Path) -> None:
    strays = {
        "aloha": {"stray/thing"}, "d4rl": {"stray"},
        "rh20t": {"notes.txt", "transformed/extra.npy"},
        "humanoid_everyday": {"states.motor_temperature"},
        "unitree_json": {"smell", "states.left_arm.heat", "states.body.qvel"},
    }  # fmt: skip
    for name, wanted in strays.items():
        (tmp_path / name).mkdir()
        path, _ = DATASETS[name](tmp_path / name, shared_data)
        dataset = open_dataset(path)
        ledger = sum((recording.ledger for recording in dataset), dataset.ledger)
        assert {item.name for item in ledger.not_taken} >= wanted, name


def test_steps_of_d4rl_are_counted_once(tmp_path: Path) -> None:
    dataset = open_dataset(test_d4rl.write_steps(tmp_path / "hopper.hdf5"))
    items = {item.name: item.samples for recording in dataset for item in recording.ledger.items}
    ledger = sum((recording.ledger for recording in dataset), Ledger())
    assert items.keys() == {item.name for item in ledger.items}
    counts = {item.name: item.samples for item in ledger.items}
    assert counts["rewards"] == counts["next_observations"] == counts["observations"] == 60


def test_a_pickle_of_a_motion_is_accounted_for(shared_data: Path) -> None:
    paths = sorted((shared_data / "retarget" / "asap_g1_23dof").glob("*.pkl"))[:3]
    assert paths
    for path in paths:
        with path.open("rb") as file:
            (motion,) = _JoblibUnpickler(file).load().values()
        items = {item.name: item for each in open_dataset(path) for item in each.ledger.items}
        assert items.keys() == motion.keys(), path.name


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def c3d_names(path: Path) -> set[str]:
    """Markers and analog channels by the letter of the format, for files of a PC."""
    raw = path.read_bytes()
    at = (raw[0] - 1) * 512 + 4
    assert raw[at - 1] == 84, "not of a PC"
    groups: dict[int, str] = {}
    found: dict[str, Any] = {}
    while raw[at] and (number := _signed(raw[at + 1])):
        length = abs(_signed(raw[at]))
        name = raw[at + 2 : at + 2 + length].decode("ascii").upper()
        here = at + 2 + length
        if number < 0:
            groups[-number] = name
        else:
            size, count = _signed(raw[here + 2]), raw[here + 3]
            sizes = list(raw[here + 4 : here + 4 + count])
            start = here + 4 + count
            data = raw[start : start + abs(size) * int(np.prod(sizes or [1]))]
            if size == -1:
                width = sizes[0] if sizes else 1
                words = [data[i : i + width] for i in range(0, len(data), max(width, 1))]
                found[f"{number}:{name}"] = [word.decode("latin-1").strip() for word in words]
            elif size == 2:
                found[f"{number}:{name}"] = [int.from_bytes(data[:2], "little")]
        step = int.from_bytes(raw[here : here + 2], "little")
        if not step:
            break
        at = here + step
    named = {f"{groups[int(key.split(':')[0])]}:{key.split(':')[1]}": v for key, v in found.items()}
    markers = named["POINT:LABELS"][: named["POINT:USED"][0]]
    channels = named.get("ANALOG:LABELS", [])[: named.get("ANALOG:USED", [0])[0]]
    return set(markers) | {f"analog {name}" for name in channels}


def bvh_names(path: Path) -> set[str]:
    """Every ROOT and JOINT."""
    found = re.findall(r"^\s*(?:ROOT|JOINT)\s+(\S+)", path.read_text(errors="replace"), re.M)
    return set(found)


def asf_names(path: Path) -> set[str]:
    """The root, and every bone of the ASF beside the motion."""
    (skeleton,) = path.parent.rglob(f"{path.stem.split('_')[0]}.asf")
    return {"root", *re.findall(r"^\s*name\s+(\S+)", skeleton.read_text(), re.M)}


def npz_names(path: Path) -> set[str]:
    """Every array of an archive."""
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy") for name in archive.namelist()}


def point_names(path: Path) -> set[str]:
    """Points without a name, by their number."""
    return {f"point {number}" for number in range(np.load(path).shape[1])}


PEOPLE: tuple[tuple[str, str, Callable[[Path], set[str]]], ...] = (
    ("c3d", "mocap/c3d_kineticstoolkit/kinematics_tennis_serve.c3d", c3d_names),
    ("c3d", "mocap/c3d_ezc3d/Qualisys.c3d", c3d_names),
    ("bvh", "mocap/bvh_pybvh/bvh_test3.bvh", bvh_names),
    ("bvh", "mocap/bvh_bvhpython/test_freebvh.bvh", bvh_names),
    ("asf_amc", "mocap/cmu_asf_amc_bvh/01_01.amc", asf_names),
    ("keypoints", "retarget/pyroki_smpl_keypoints/smpl_keypoints.npy", point_names),
    ("smpl", "retarget/asap_smpl_human/video_walk_level1_filter_amass.npz", npz_names),
)


@pytest.mark.parametrize(("kind", "name", "names_of"), PEOPLE)
def test_markers_and_bones_of_a_person_are_accounted_for(
    shared_data: Path, kind: str, name: str, names_of: Callable[[Path], set[str]]
) -> None:
    (path,) = (shared_data / name).parent.rglob(Path(name).name)
    motion = read_motion(path)
    assert motion.origin.format in (kind, kind.replace("_", "/"), "amc")
    assert kind in readers()
    items = motion.origin.ledger.items
    assert {item.name for item in items} == names_of(path)
    assert any(item.taken_as for item in items)
    for item in items:
        assert bool(item.taken_as) != bool(item.reason), item
