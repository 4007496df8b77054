"""A calibration goes where each format keeps one: lens and pose beside the pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest

from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.exchange.camera_model import camera_models
from corporeal.exchange.conversion import export
from corporeal.exchange.mcap_messages.log_file import open_log
from corporeal.exchange.mcap_messages.message_type import decode
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.protocol import Calibration
from corporeal.testing import Workload

CELL = Calibration.model_validate({
    "document": "calibration", "name": "cell", "version": "1.2.0", "measured": "2026-11-19",
    "cameras": [{"name": "head_left", "width": 128, "height": 96, "focal_px": [100.0, 101.0],
                 "centre_px": [63.5, 47.5], "distortion": [-0.2, 0.05, 0.0, 0.0, 0.0],
                 "frame": "torso_link", "xyz": [0.1, 0.02, 0.4], "rpy": [0.0, 0.5, 0.0]},
                {"name": "external", "serial": "seven"}],
})  # fmt: skip


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two short episodes that were recorded with the calibration."""
    folder = tmp_path_factory.mktemp("calibrated") / "recorded"
    folder.mkdir()
    for seed in range(2):
        workload = Workload(open_robot("g1"), duration_s=0.4, seed=seed, size=(48, 64))
        with EpisodeWriter(folder / f"e{seed}.h5", schema=workload.schema,
                           embodiment=workload.embodiment, metadata=dict(workload.metadata),
                           documents=[CELL], epoch_ns=0) as writer:  # fmt: skip
            for stream, time_ns, value in workload.samples():
                writer.append(stream, time_ns, value)
    return folder


def written(episodes: Path, out: Path, name: str) -> Path:
    export(partial(open_dataset, episodes), out, name, ExportOptions())
    return out


def test_cameras_without_a_lens_are_left_out(episodes: Path) -> None:
    recording = open_dataset(episodes).open(0)
    models = camera_models(recording)
    assert list(models) == ["head_left"]
    half = models["head_left"].scaled(64, 48)
    assert half.matrix[0].tolist() == [50.0, 0.0, 31.5]
    assert half.matrix[1].tolist() == [0.0, 50.5, 23.5]
    broken = {"calibration": '{"cameras": [{"name": "a", "focal_px": [1]}]}'}
    assert camera_models(replace(recording, documents=broken)) == {}


def test_a_log_has_camera_info_and_a_transform(episodes: Path, tmp_path: Path) -> None:
    (path, _) = sorted(written(episodes, tmp_path / "out", "mcap").rglob("*.mcap"))
    log = open_log(path)
    (topic,) = [name for name in log.channels if name.endswith("/camera_info")]
    assert topic.endswith("head_left/camera_info")
    (info,) = [decode(message, "sensor_msgs/msg/CameraInfo", where=topic)
               for message in payloads(path, topic)]  # fmt: skip
    assert (info.width, info.height, info.distortion_model) == (128, 96, "plumb_bob")
    assert info.k.reshape(3, 3)[0, 0] == 100.0
    assert info.header.frame_id == "head_left_optical"
    (fixed,) = [decode(message, "tf2_msgs/msg/TFMessage", where="tf")
                for message in payloads(path, "/tf_static")]  # fmt: skip
    placed = {each.child_frame_id: each for each in fixed.transforms}["head_left_optical"]
    assert placed.header.frame_id == "torso_link"
    assert placed.transform.translation.z == pytest.approx(0.4)
    assert placed.transform.rotation.y == pytest.approx(np.sin(0.25))


def payloads(path: Path, topic: str) -> list[bytes]:
    """The messages of a topic, read by a reader that is not ours."""
    from mcap.reader import make_reader

    with path.open("rb") as file:
        return [message.data for _, channel, message in make_reader(file).iter_messages()
                if channel.topic == topic]  # fmt: skip


def test_lerobot_says_it_of_the_feature(episodes: Path, tmp_path: Path) -> None:
    out = written(episodes, tmp_path / "out", "lerobot")
    features = json.loads((out / "meta" / "info.json").read_text())["features"]
    (camera,) = [entry for key, entry in features.items() if key.endswith("head_left")]
    said = camera["info"]["calibration"]
    height, width = camera["shape"][:2]
    assert (said["width"], said["height"]) == (width, height)
    assert said["calibration"] == "cell@1.2.0"
    assert said["camera_matrix"][0][0] == pytest.approx(100.0 * width / 128)
    assert said["frame"] == "torso_link"


def test_hdf5_says_it_beside_the_pictures(episodes: Path, tmp_path: Path) -> None:
    out = written(episodes, tmp_path / "out", "aloha")
    path = min(out.glob("*.hdf5"))
    with h5py.File(path) as file:
        pictures = file["observations/images/head_left"]
        assert pictures.attrs["camera_matrix"].shape == (3, 3)
        assert pictures.attrs["distortion_model"] == "plumb_bob"
        assert pictures.attrs["width"] == pictures.shape[2]
