"""Layouts of Open X-Embodiment are understood: DROID, RT-1, packed tensors, depth."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError
from corporeal.exchange.layout import layout_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.rlds.features import Leaf, features_json
from corporeal.exchange.tfrecord import ExampleWriter

STEPS = 6


def write_set(
    folder: Path,
    name: str,
    steps: Mapping[str, tuple[Leaf, Any]],
    others: Mapping[str, tuple[Leaf, Any]] | None = None,
    *,
    file: str = "{}-train.tfrecord-00000-of-00001",
) -> Path:
    """A dataset of one episode with these features; values are those of all steps."""
    folder.mkdir(parents=True)
    others = others or {}
    leaves = features_json({path: leaf for path, (leaf, _) in steps.items()},
                           {path: leaf for path, (leaf, _) in others.items()})  # fmt: skip
    (folder / "features.json").write_text(json.dumps(leaves))
    split = {"name": "train", "shardLengths": ["1"]}
    (folder / "dataset_info.json").write_text(json.dumps({"name": name, "splits": [split]}))
    with ExampleWriter(folder) as example:
        for path, (_, values) in {**{f"steps/{p}": v for p, v in steps.items()}, **others}.items():
            add = example.blobs if isinstance(values, list) else example.numbers
            add(path, values)
        example.write(folder / file.format(name))
    return folder


def tensor(width: int, dtype: str = "float32", *, seed: int = 0) -> tuple[Leaf, Any]:
    shape = (width,) if width else ()
    values = np.random.default_rng(seed).normal(size=(STEPS, *shape)).astype(np.float32)
    return Leaf("tensor", shape, dtype), values


def texts(*given: str) -> tuple[Leaf, list[bytes]]:
    said = given if len(given) == STEPS else given * STEPS
    return Leaf("text"), [text.encode() for text in said]


def picture(height: int = 18, width: int = 32) -> tuple[Leaf, list[bytes]]:
    found = []
    for level in range(STEPS):
        stream = io.BytesIO()
        Image.new("RGB", (width, height), (40 * level, 0, 0)).save(stream, "JPEG")
        found.append(stream.getvalue())
    return Leaf("image", (height, width, 3), "uint8", "jpeg"), found


MARKS = {
    "is_first": (Leaf("tensor", (), "bool"), np.arange(STEPS) == 0),
    "is_last": (Leaf("tensor", (), "bool"), np.arange(STEPS) == STEPS - 1),
    "is_terminal": (Leaf("tensor", (), "bool"), np.arange(STEPS) == STEPS - 1),
    "reward": tensor(0),
    "discount": tensor(0),
}


def droid(folder: Path, outcome: str = "success") -> Path:
    widths = {"cartesian": 6, "gripper": 1, "joint": 7}
    steps: dict[str, tuple[Leaf, Any]] = {**MARKS, "action": tensor(7, "float64")}
    for part, width in widths.items():
        steps[f"observation/{part}_position"] = tensor(width, "float64", seed=width)
        steps[f"action_dict/{part}_position"] = tensor(width, "float64", seed=width + 10)
        steps[f"action_dict/{part}_velocity"] = tensor(width, "float64", seed=width + 20)
    for camera in ("exterior_image_1_left", "exterior_image_2_left", "wrist_image_left"):
        steps[f"observation/{camera}"] = picture()
    steps["language_instruction"] = texts("put the marker in the mug")
    steps["language_instruction_2"] = texts("place the pen into the cup")
    steps["language_instruction_3"] = texts("")
    path = f"r2d2-data/AUTOLab/{outcome}/2023-07-07/trajectory.h5".encode()
    return write_set(folder, "droid_100", steps, {
        "episode_metadata/file_path": (Leaf("text"), [path]),
        "episode_metadata/recording_folderpath": (Leaf("text"), [b"r2d2-data/mp4"]),
    })  # fmt: skip


def rt1(folder: Path, *instructions: str) -> Path:
    string = Leaf("tensor", (), "string")
    said = [text.encode() for text in instructions or ("pick coke can",) * STEPS]
    steps = {
        **MARKS,
        "action/world_vector": tensor(3),
        "action/rotation_delta": tensor(3, seed=1),
        "action/gripper_closedness_action": tensor(1),
        "action/terminate_episode": (
            Leaf("tensor", (3,), "int32"),
            np.tile(np.array([0, 1, 0]), (STEPS, 1)),
        ),
        "observation/image": picture(256, 320),
        "observation/base_pose_tool_reached": tensor(7),
        "observation/gripper_closed": tensor(1),
        "observation/natural_language_instruction": (string, said),
        "observation/natural_language_embedding": tensor(512),
        "observation/orientation_box": (
            Leaf("tensor", (2, 3), "float32"),
            np.zeros((STEPS, 2, 3), np.float32),
        ),
    }
    return write_set(folder, "fractal20220817_data", steps, {
        "attributes/task_family_name": (string, [b"pick"]),
        "aspects/success": (Leaf("tensor", (), "bool"), np.array([1])),
    })  # fmt: skip


def test_droid_has_units_where_its_layout_has_them(tmp_path: Path) -> None:
    dataset = open_dataset(droid(tmp_path / "droid_100" / "1.0.0").parents[1])
    assert dataset.defects == ()
    recording = dataset.open(0)
    assert recording.defects == ()
    pose = recording.signals["observation/cartesian_position"].spec
    assert pose.components == ("x", "y", "z", "roll", "pitch", "yaw")
    assert pose.unit == ("m", "m", "m", "rad", "rad", "rad")
    joints = recording.signals["observation/joint_position"].spec
    assert joints.name == "joint_position"
    assert joints.unit == ("rad",) * 7
    command = recording.signals["action_dict/joint_position"].spec
    assert command.path == "actions/action_joint_position"
    assert command.unit == ("rad",) * 7
    assert recording.signals["action_dict/joint_velocity"].spec.unit == "1"
    assert recording.signals["observation/gripper_position"].spec.unit == "1"
    assert recording.metadata["fps"] == 15


def test_droid_has_three_instructions_and_its_outcome_in_a_path(tmp_path: Path) -> None:
    metadata = open_dataset(droid(tmp_path / "droid")).open(0).metadata
    assert metadata["instruction"] == "put the marker in the mug"
    assert metadata["instructions"] == ("put the marker in the mug", "place the pen into the cup")
    assert metadata["success"] is True
    assert open_dataset(droid(tmp_path / "b", "failure")).open(0).metadata["success"] is False


def test_droid_becomes_a_table_with_its_cameras(tmp_path: Path) -> None:
    layout = layout_of(open_dataset(droid(tmp_path / "droid")).open(0), ExportOptions())
    assert layout.rate_hz == 15
    assert "observation.state" in layout.columns
    assert "action" in layout.columns
    assert "observation.images.wrist_image_left" in layout.cameras


def test_rt1_has_a_nested_action_and_texts_in_the_observation(tmp_path: Path) -> None:
    recording = open_dataset(rt1(tmp_path / "set")).open(0)
    assert recording.defects == ()
    assert recording.metadata["instruction"] == "pick coke can"
    assert recording.metadata["task_family_name"] == "pick"
    assert recording.metadata["success"] is True
    assert recording.metadata["fps"] == 3
    end = recording.signals["action/terminate_episode"]
    assert end.spec.group == "actions"
    assert end.spec.dtype == "int32"
    assert end[0].tolist() == [0, 1, 0]
    assert recording.signals["observation/orientation_box"][:].shape == (STEPS, 2, 3)
    tool = recording.signals["observation/base_pose_tool_reached"].spec
    assert tool.quaternion_columns == (6, 3, 4, 5)
    assert "observation/natural_language_embedding" not in recording.signals


def test_an_instruction_that_changes_is_a_stream_of_its_own(tmp_path: Path) -> None:
    said = ("open the drawer",) * 2 + ("close it",) * (STEPS - 2)
    recording = open_dataset(rt1(tmp_path / "set", *said)).open(0)
    spoken = recording.signals["language_instruction"]
    assert spoken.spec.name == "instruction"
    assert list(spoken[:]) == ["open the drawer", "close it"]
    assert spoken.time_ns.tolist() == [0, recording.signals["observation/image"].time_ns[2]]
    assert recording.defects == ()


@pytest.mark.parametrize("encoding", ["bytes", "zlib"])
def test_tensors_that_are_packed_into_bytes_are_read(tmp_path: Path, encoding: str) -> None:
    values = np.random.default_rng(0).normal(size=(STEPS, 2, 2))
    blobs = [each.astype("<f8").tobytes() for each in values]
    if encoding == "zlib":
        blobs = [zlib.compress(blob) for blob in blobs]
    steps = {"observation/state": (Leaf("tensor", (2, 2), "float64", encoding), blobs)}
    recording = open_dataset(write_set(tmp_path / "set", "kuka", steps)).open(0)
    assert np.array_equal(recording.signals["observation/state"][:], values)


def test_packed_tensors_that_unpack_to_more_are_refused(tmp_path: Path) -> None:
    bomb = [zlib.compress(bytes(1 << 24))] * STEPS
    steps = {
        "action": tensor(2),
        "observation/state": (Leaf("tensor", (2,), "float64", "zlib"), bomb),
    }
    recording = open_dataset(write_set(tmp_path / "set", "kuka", steps)).open(0)
    assert [defect.stream for defect in recording.defects] == ["observation/state"]


def png(values: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, "PNG")
    return stream.getvalue()


def test_depth_of_16_bits_is_a_depth_stream(tmp_path: Path) -> None:
    depth = np.random.default_rng(0).integers(0, 65535, (STEPS, 4, 6)).astype(np.uint16)
    leaf = Leaf("image", (4, 6, 1), "uint16", "png")
    steps = {"action": tensor(2), "observation/depth": (leaf, [png(each) for each in depth])}
    signal = (
        open_dataset(write_set(tmp_path / "set", "x", steps)).open(0).signals["observation/depth"]
    )
    assert signal.spec.kind == "depth"
    assert np.array_equal(signal[:], depth)
    assert np.array_equal(signal[3], depth[3])


def test_depth_in_floats_stands_in_the_bytes_of_the_pixels(tmp_path: Path) -> None:
    depth = np.random.default_rng(0).uniform(0, 5, (STEPS, 4, 6)).astype("<f4")
    blobs = [png(each[..., None].view(np.uint8)) for each in depth]
    steps = {
        "action": tensor(2),
        "observation/depth": (Leaf("image", (4, 6, 1), "float32", "png"), blobs),
    }
    recording = open_dataset(write_set(tmp_path / "set", "x", steps)).open(0)
    assert np.array_equal(recording.signals["observation/depth"][1:3], depth[1:3])


def test_depth_of_another_size_is_refused(tmp_path: Path) -> None:
    blobs = [png(np.zeros((8, 6), np.uint16))] * STEPS
    leaf = Leaf("image", (4, 6, 1), "uint16", "png")
    steps = {"action": tensor(2), "observation/depth": (leaf, blobs)}
    recording = open_dataset(write_set(tmp_path / "set", "x", steps)).open(0)
    with pytest.raises(EpisodeError, match="depth cannot be decoded"):
        recording.signals["observation/depth"][0]


def test_pictures_that_are_plain_numbers_are_pictures(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 255, (STEPS, 4, 6, 3)).astype(np.uint8)
    steps = {"observation/image": (Leaf("tensor", (4, 6, 3), "uint8"), values)}
    stills = (
        open_dataset(write_set(tmp_path / "set", "x", steps)).open(0).signals["observation/image"]
    )
    assert isinstance(stills, ImageSequence)
    assert np.array_equal(stills[:], values)


def test_pictures_of_an_open_size_say_their_own(tmp_path: Path) -> None:
    leaf = Leaf("image", (-1, -1, 3), "uint8", "jpeg")
    steps = {"action": tensor(2), "observation/image": (leaf, picture(18, 32)[1])}
    recording = open_dataset(write_set(tmp_path / "set", "x", steps)).open(0)
    assert recording.signals["observation/image"].spec.shape == (18, 32, 3)


def test_the_newest_version_below_a_folder_is_read(tmp_path: Path) -> None:
    for version in ("0.9.0", "0.10.0"):
        write_set(tmp_path / "toy" / version, f"toy_{version[2]}", {"action": tensor(2)})
    assert open_dataset(tmp_path).open(0).id == "toy_1_000000"


def test_several_datasets_below_a_folder_are_told(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_set(tmp_path / name / "1.0.0", name, {"action": tensor(2)})
    with pytest.raises(EpisodeError, match=r"2 datasets are here \(one/1\.0\.0 and two/1\.0\.0\)"):
        open_dataset(tmp_path)


def test_missing_files_of_a_split_are_told(tmp_path: Path) -> None:
    path = write_set(tmp_path / "set", "toy", {"action": tensor(2)},
                     file="{}-train.tfrecord-00001-of-00003")  # fmt: skip
    with pytest.raises(
        EpisodeError, match=r"2 of the 3 files .* toy-train\.tfrecord-00000-of-00003"
    ):
        open_dataset(path)


def test_array_records_are_told(tmp_path: Path) -> None:
    path = write_set(tmp_path / "set", "toy", {"action": tensor(2)},
                     file="{}-train.array_record-00000-of-00001")  # fmt: skip
    with pytest.raises(EpisodeError, match="records are in array_record files"):
        open_dataset(path)


def test_a_dataset_without_data_is_told(tmp_path: Path) -> None:
    path = write_set(tmp_path / "set", "toy", {"action": tensor(2)})
    (path / "toy-train.tfrecord-00000-of-00001").unlink()
    with pytest.raises(EpisodeError, match="Fetch the data"):
        open_dataset(path)


def test_a_tensorflow_dataset_without_steps_is_told(tmp_path: Path) -> None:
    path = write_set(tmp_path / "set", "mnist", {"action": tensor(2)})
    (path / "features.json").write_text(json.dumps(features_json({}, {"image": picture()[0]})))
    with pytest.raises(EpisodeError, match="no feature `steps`"):
        open_dataset(path)


def test_a_wrong_description_of_columns_is_told(tmp_path: Path) -> None:
    path = write_set(tmp_path / "set", "toy", {"action": tensor(2)})
    (path / "metadata.json").write_text(json.dumps({"corporeal": {"rate_hz": -1}}))
    with pytest.raises(EpisodeError, match=r"metadata\.json: .*rate_hz"):
        open_dataset(path)
    (path / "metadata.json").write_text(json.dumps({"mine": 1}))
    assert len(open_dataset(path).episodes) == 1


@pytest.mark.parametrize("sizes", [7, None, ["-1", "-1"], ["x"], ["99999999999"], [[2]]])
def test_a_shape_that_is_none_is_a_defect_of_its_column(tmp_path: Path, sizes: Any) -> None:
    steps = {"action": tensor(2), "observation/state": tensor(2)}
    path = write_set(tmp_path / "set", "toy", steps)
    features = json.loads((path / "features.json").read_text())
    inner = features["featuresDict"]["features"]["steps"]["sequence"]["feature"]
    inner["featuresDict"]["features"]["action"]["tensor"]["shape"] = {"dimensions": sizes}
    (path / "features.json").write_text(json.dumps(features))
    recording = open_dataset(path).open(0)
    assert "observation/state" in recording.signals
    assert {defect.check for defect in recording.defects} == {"index_wrong"}
