"""ALOHA files become recordings of the built-in ALOHA."""

from __future__ import annotations

import io
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError
from corporeal.exchange.opening import open_dataset


def write(path: Path, *, width: int = 14, encoded: bool = False) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["sim"] = False
        file["observations/qpos"] = np.zeros((5, width))
        file["observations/qvel"] = np.zeros((5, width))
        file["action"] = np.ones((5, width))
        pictures = np.full((5, 8, 10, 3), 90, np.uint8)
        if encoded:
            stream = io.BytesIO()
            Image.fromarray(pictures[0]).save(stream, "JPEG")
            row = np.frombuffer(stream.getvalue().ljust(2000, b"\0"), np.uint8)
            pictures = np.tile(row, (5, 1))
        file["observations/images/cam_high"] = pictures


def test_a_folder_of_episodes_is_numbered_in_order(tmp_path: Path) -> None:
    for number in (0, 2, 10):
        write(tmp_path / f"episode_{number}.hdf5")
    dataset = open_dataset(tmp_path)
    assert dataset.format == "aloha"
    assert [dataset.open(number).id for number in dataset.episodes] == [
        "episode_0",
        "episode_2",
        "episode_10",
    ]


def test_motors_are_the_joints_of_the_built_in_robot_and_grippers_are_not(tmp_path: Path) -> None:
    write(tmp_path / "episode_0.hdf5")
    recording = open_dataset(tmp_path / "episode_0.hdf5").open(0)
    assert recording.embodiment is not None
    assert recording.embodiment.name == "aloha"
    state = recording.signals["observations/qpos"].spec
    assert state.name == "joint_position"
    assert isinstance(state.components, tuple)
    assert state.components[0] == "left_waist"
    assert state.components[6] not in recording.embodiment.joint_names
    assert state.unit[5:8] == ("rad", "1", "rad")
    assert recording.signals["observations/qvel"].spec.name == "joint_velocity"
    assert recording.signals["action"].spec.name == "joint_position_target"


@pytest.mark.parametrize("encoded", [False, True])
def test_pictures_are_plain_or_encoded(tmp_path: Path, encoded: bool) -> None:
    write(tmp_path / "episode_0.hdf5", encoded=encoded)
    stills = open_dataset(tmp_path).open(0).signals["observations/images/cam_high"]
    assert isinstance(stills, ImageSequence)
    assert stills.spec.shape == (8, 10, 3)
    assert abs(float(stills[:].mean()) - 90) < 3


def test_another_number_of_motors_is_an_unknown_robot(tmp_path: Path) -> None:
    write(tmp_path / "episode_0.hdf5", width=16)
    recording = open_dataset(tmp_path).open(0)
    assert recording.embodiment is None
    assert recording.signals["observations/qpos"].spec.unit == "1"
    assert recording.signals["action"].spec.name == "joint_position_target"


def test_a_damaged_file_raises_when_it_is_opened(tmp_path: Path) -> None:
    write(tmp_path / "episode_0.hdf5")
    whole = (tmp_path / "episode_0.hdf5").read_bytes()
    (tmp_path / "episode_1.hdf5").write_bytes(whole[:1000])
    dataset = open_dataset(tmp_path)
    with pytest.raises(EpisodeError, match="cannot be read as HDF5"):
        dataset.open(1)


def test_what_a_mobile_aloha_tells_its_wheels_is_a_command(tmp_path: Path) -> None:
    write(tmp_path / "episode_0.hdf5")
    with h5py.File(tmp_path / "episode_0.hdf5", "a") as file:
        file["base_action"] = np.ones((5, 2))
        file["compress_len"] = np.ones((3, 5))
    signals = open_dataset(tmp_path).open(0).signals
    assert signals["base_action"].spec.path == "actions/base_action"
    assert "compress_len" not in signals
