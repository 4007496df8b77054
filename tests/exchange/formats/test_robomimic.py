"""Demonstrations in robomimic and older robosuite files become recordings."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError
from corporeal.exchange.opening import open_dataset


def write(path: Path, *, lengths: tuple[int, ...] = (6, 8), samples: int | None = None) -> Path:
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        arguments = {"env_name": "Lift", "env_kwargs": {"control_freq": 10}}
        data.attrs["env_args"] = json.dumps(arguments)
        for number, length in enumerate(lengths):
            demo = data.create_group(f"demo_{number * 10}")
            demo.attrs["num_samples"] = length if samples is None else samples
            demo["actions"] = np.zeros((length, 7))
            demo["rewards"] = np.ones(length)
            demo["states"] = np.zeros((length, 12))
            demo["obs/robot0_joint_pos"] = np.ones((length, 7))
            demo["obs/robot0_joint_pos_cos"] = np.ones((length, 7))
            demo["obs/robot0_eef_quat"] = np.ones((length, 4))
            demo["obs/agentview_image"] = np.full((length, 8, 6, 3), number + 1, np.uint8)
    return path


def test_every_demonstration_is_an_episode_with_its_own_number(tmp_path: Path) -> None:
    dataset = open_dataset(write(tmp_path / "lift.hdf5"))
    assert dataset.format == "robomimic"
    assert dataset.episodes == (0, 10)
    recording = dataset.open(10)
    assert recording.defects == ()
    assert recording.metadata["task"] == "Lift"
    assert recording.metadata["reward"] == 8.0
    assert recording.signals["obs/robot0_joint_pos"].spec.name == "joint_position"
    assert recording.signals["obs/robot0_joint_pos_cos"].spec.name == "robot0_joint_pos_cos"
    assert recording.signals["obs/robot0_joint_pos"].spec.components == tuple(
        f"joint_{number}" for number in range(7)
    )
    assert recording.signals["actions"].spec.name == "action"
    assert recording.signals["actions"].spec.components is None
    assert recording.signals["actions"].time_ns[1] == 100_000_000
    assert recording.signals["obs/robot0_eef_quat"].spec.quaternion_columns == (3, 0, 1, 2)
    assert "states" not in recording.signals
    with pytest.raises(EpisodeError, match="no demonstration 3"):
        dataset.open(3)


def test_pictures_are_read_when_they_are_looked_at(tmp_path: Path) -> None:
    recording = open_dataset(write(tmp_path / "lift.hdf5")).open(10)
    stills = recording.signals["obs/agentview_image"]
    assert isinstance(stills, ImageSequence)
    assert stills.spec.shape == (8, 6, 3)
    assert np.all(stills[2:4] == 2)
    assert [frame.width for frame in stills.frames()] == [6] * 8


def test_a_wrong_number_of_samples_is_found(tmp_path: Path) -> None:
    recording = open_dataset(write(tmp_path / "lift.hdf5", samples=7)).open(0)
    assert [defect.check for defect in recording.defects] == ["index_wrong"]


def test_streams_of_different_lengths_are_found(tmp_path: Path) -> None:
    path = write(tmp_path / "lift.hdf5")
    with h5py.File(path, "a") as file:
        file["data/demo_0/obs/object"] = np.zeros((5, 3))
    defects = open_dataset(path).open(0).defects
    assert [(defect.check, defect.stream) for defect in defects] == [("index_wrong", "obs/object")]


def test_streams_on_a_clock_of_their_own_are_one_finding_and_promise_no_rate(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "lift.hdf5")
    with h5py.File(path, "a") as file:
        for number in range(40):
            file[f"data/demo_0/user_info/{number}"] = np.zeros((17, 3))
    recording = open_dataset(path).open(0)
    (defect,) = recording.defects
    assert "user_info/0" in defect.message
    assert " more have 17 samples" in defect.message
    assert recording.signals["user_info/0"].spec.rate_hz is None
    assert recording.signals["actions"].spec.rate_hz is not None


def test_links_and_objects_are_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "lift.hdf5")
    with h5py.File(path, "a") as file:
        group = file["data/demo_0/obs"]
        group["elsewhere"] = h5py.ExternalLink("secret.hdf5", "/x")
        group["texts"] = np.array([b"a", b"b"], dtype=h5py.string_dtype())
    signals = open_dataset(path).open(0).signals
    assert "obs/elsewhere" not in signals
    assert "obs/texts" not in signals


def test_real_files_are_read(shared_data: Path) -> None:
    folder = shared_data / "hdf5_rlds"
    image = open_dataset(folder / "robomimic/robomimic_mh/dummy_data/lift_image.hdf5").open(0)
    assert len(list(image.signals["obs/agentview_image"].frames())) == 48  # type: ignore[attr-defined]
    old = open_dataset(folder / "robosuite_human/SawyerLift/demo.hdf5")
    assert old.episodes == (1, 2)
    assert old.open(1).metadata["task"] == "SawyerLift"
    assert len(old.open(1).signals["actions/right_dpos"]) == 1058


@pytest.mark.parametrize("shape", [(1 << 40, 8, 6, 3), (6, 1 << 20, 1 << 20, 3)])
def test_pictures_that_take_no_room_in_the_file_take_none_in_memory(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    path = write(tmp_path / "lift.hdf5")
    with h5py.File(path, "a") as file:
        chunks = (1, 8, 6, 3)
        file["data/demo_0/obs"].create_dataset("bomb", shape, np.uint8, chunks=chunks)
    with pytest.raises(EpisodeError, match="bomb has"):
        open_dataset(path).open(0)
