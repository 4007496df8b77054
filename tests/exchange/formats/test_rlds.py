"""RLDS episodes are read without TensorFlow."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.tfrecord import masked_crc, parse_example, records


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def part(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(values: Any) -> bytes:
    if isinstance(values, list):
        return part(1, b"".join(part(1, each) for each in values))
    if values.dtype.kind == "f":
        return part(2, part(1, values.astype("<f4").tobytes()))
    return part(3, part(1, b"".join(varint(int(each)) for each in values)))


def example(features: dict[str, Any]) -> bytes:
    entries = (part(1, k.encode()) + part(2, feature(v)) for k, v in features.items())
    return part(1, b"".join(part(1, entry) for entry in entries))


def record(data: bytes) -> bytes:
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", masked_crc(size)) + data + struct.pack("<I", masked_crc(data))


def tensor(*sizes: int) -> dict[str, Any]:
    return {"tensor": {"shape": {"dimensions": [str(size) for size in sizes]}}}


def jpeg(level: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 6), (level, level, level)).save(stream, "JPEG")
    return stream.getvalue()


def write(folder: Path, *, episodes: int = 2, listed: int = 2, steps: int = 4) -> Path:
    folder.mkdir()
    image = {"image": {"shape": {"dimensions": ["6", "8", "3"]}}}
    observation = {"state": tensor(7), "image_0": image, "image_1": image}
    inner = {
        "action": tensor(7),
        "observation": {"featuresDict": {"features": observation}},
        "language_instruction": {"text": {}},
        "is_first": tensor(),
    }
    sequence = {"feature": {"featuresDict": {"features": inner}}}
    metadata = {"featuresDict": {"features": {"episode_id": tensor(), "has_image_1": tensor()}}}
    features = {"steps": {"sequence": sequence}, "episode_metadata": metadata}
    (folder / "features.json").write_text(json.dumps({"featuresDict": {"features": features}}))
    split = {"name": "val", "shardLengths": [str(listed)]}
    (folder / "dataset_info.json").write_text(json.dumps({"name": "toy", "splits": [split]}))
    data = b""
    for number in range(episodes):
        data += record(example({
            "steps/action": np.arange(7 * steps, dtype=np.float32),
            "steps/observation/state": np.full(7 * steps, number, np.float32),
            "steps/observation/image_0": [jpeg(20 * step) for step in range(steps)],
            "steps/observation/image_1": [jpeg(0)] * steps,
            "steps/language_instruction": [b"lift the pot"] * steps,
            "steps/is_first": np.array([1] + [0] * (steps - 1)),
            "episode_metadata/episode_id": np.array([-5 + number]),
            "episode_metadata/has_image_1": np.array([0]),
        }))  # fmt: skip
    (folder / "toy-val.tfrecord-00000-of-00001").write_bytes(data)
    return folder


def test_episodes_are_read_with_pictures_and_instruction(tmp_path: Path) -> None:
    dataset = open_dataset(write(tmp_path / "toy"))
    assert dataset.format == "rlds"
    assert dataset.episodes == (0, 1)
    assert dataset.defects == ()
    recording = dataset.open(1)
    assert recording.defects == ()
    assert recording.metadata["instructions"] == ("lift the pot",)
    assert recording.metadata["episode_id"] == -4
    assert np.array_equal(recording.signals["action"][:], np.arange(28).reshape(4, 7))
    assert recording.signals["observation/state"].spec.name == "state"
    assert recording.signals["observation/state"][:].max() == 1
    stills = recording.signals["observation/image_0"]
    assert isinstance(stills, ImageSequence)
    assert abs(float(stills[3].mean()) - 60) < 3
    assert sum(1 for _ in stills.frames()) == 4


def test_a_camera_that_was_not_there_is_left_out(tmp_path: Path) -> None:
    assert "observation/image_1" not in open_dataset(write(tmp_path / "toy")).open(0).signals


def test_episodes_that_are_listed_and_not_here_are_found(tmp_path: Path) -> None:
    defects = open_dataset(write(tmp_path / "toy", listed=3)).defects
    assert [defect.check for defect in defects] == ["metadata_wrong"]
    info = {"name": "toy", "splits": [{"name": "train", "shardLengths": ["25"]}]}
    (tmp_path / "toy" / "dataset_info.json").write_text(json.dumps(info))
    defects = open_dataset(tmp_path).defects
    assert [defect.check for defect in defects] == ["index_wrong"]
    assert "train with 25" in defects[0].message


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "toy") / "toy-val.tfrecord-00000-of-00001"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(EpisodeError, match="more than are there"):
        open_dataset(tmp_path / "toy")


def test_a_wrong_length_is_caught_by_its_checksum(tmp_path: Path) -> None:
    file = tmp_path / "x.tfrecord"
    file.write_bytes(struct.pack("<QI", 1 << 40, 0) + b"abc")
    with pytest.raises(EpisodeError, match="wrong checksum"):
        list(records(file))


def test_numbers_of_every_size_are_parsed() -> None:
    numbers = np.array([0, 1, 127, 128, 300, -1, 2**62, -(2**63)])
    found = parse_example(example({"a": numbers, "b": np.array([1.5, -2.0])}))
    assert np.array_equal(found["a"], numbers)
    assert np.array_equal(found["b"], [1.5, -2.0])


@pytest.mark.parametrize("data", [b"\xff" * 20, b"\x0a\x50abc", b"\x0b"])
def test_bytes_that_are_no_example_are_refused(data: bytes) -> None:
    with pytest.raises(EpisodeError, match=r"not a tf\.train\.Example"):
        parse_example(data)


def test_the_checksum_is_that_of_the_format() -> None:
    # "123456789" is the check value of CRC-32C in every table of CRCs: 0xE3069283.
    assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) % 2**32


def test_the_real_bridge_sample_has_25_episodes(shared_data: Path) -> None:
    dataset = open_dataset(shared_data / "hdf5_rlds" / "rlds_bridge")
    assert len(dataset.episodes) == 25
    recording = dataset.open(1)
    assert recording.metadata["instruction"] == "put carrot on plate"
    assert recording.signals["action"][:].shape == (10, 7)
