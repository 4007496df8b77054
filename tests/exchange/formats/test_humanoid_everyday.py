"""Humanoid Everyday: numbers in data.json, a picture, a depth map and a cloud for every step."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.exchange.formats.test_humanoid_everyday_clouds import pcd

from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.episode.overview import verify
from corporeal.errors import EpisodeError
from corporeal.exchange.editing.mapping import mapping_of
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.formats.humanoid_everyday import ARMS
from corporeal.exchange.opening import open_dataset

STEPS = 6
BEGIN_S = 1_740_000_000.5
SIZE = (48, 64)


def _depth(number: int) -> np.ndarray:
    return np.arange(SIZE[0] * SIZE[1], dtype="<u2").reshape(SIZE) + number


def _cloud(number: int) -> np.ndarray:
    return np.arange(3 * (number + 1), dtype=np.float32).reshape(-1, 3)


def step(folder: Path, number: int, *, robot: str | None = "G1") -> dict[str, Any]:
    """One step with its three files."""
    for name in ("color", "depth", "lidar"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((*SIZE, 3), 20 * number, np.uint8)).save(folder / f"color/{number}.png")
    (folder / f"depth/{number}.npy.lzma").write_bytes(lzma.compress(_depth(number).tobytes()))
    time_s = BEGIN_S + number / 30
    (folder / f"lidar/{100 + number}.500000.pcd").write_bytes(pcd(_cloud(number)))
    pressure = [{"sensor_id": sensor, "sensor_type": "A", "usable_readings": [1.0 * number] * 3}
                for sensor in range(4)]  # fmt: skip
    found: dict[str, Any] = {
        "time": time_s,
        "states": {
            "arm_state": [0.1 * place + 0.01 * number for place in range(14)],
            "leg_state": [0.2 * place for place in range(15)],
            "hand_state": [0.3 * place for place in range(14)],
            "hand_pressure_state": pressure,
            "imu": {"quaternion": [1, 0, 0, 0], "accelerometer": [0, 0, 9.8],
                    "gyroscope": [0, 0, 0.1], "rpy": [0, 0, 0]},
            "odometry": {"position": [0.1 * number, 0, 0.7], "velocity": [0.1, 0, 0],
                         "rpy": [0, 0, 0], "quat": [1, 0, 0, 0]},
        },
        "actions": {
            "left_angles": [0.0] * 7, "right_angles": [0.0] * 7, "armtime": time_s,
            "iktime": time_s, "sol_q": [0.5] * 14, "tau_ff": [1.0] * 14,
            "head_rmat": np.eye(3).tolist(), "left_pose": np.eye(4).tolist(),
            "right_pose": np.eye(4).tolist(),
        },
        "image": f"color/{number}.png",
        "depth": f"depth/{number}.npy.lzma",
        "lidar": f"lidar/{100 + number}.5.pcd",
    }  # fmt: skip
    return found if robot is None else {**found, "robot_type": robot}


def write(folder: Path, steps: list[dict[str, Any]]) -> Path:
    """A data.json of these steps."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.json").write_text(json.dumps(steps))
    return folder


@pytest.fixture
def task(tmp_path: Path) -> Path:
    for episode in (0, 2, 10):
        folder = tmp_path / "push_a_button" / f"episode_{episode}"
        write(folder, [step(folder, number) for number in range(STEPS)])
    return tmp_path / "push_a_button"


def test_episodes_are_found_in_order_with_their_robot(task: Path) -> None:
    dataset = open_dataset(task)
    assert dataset.format == "humanoid_everyday"
    assert [dataset.open(n).source.parent.name for n in dataset.episodes] == [
        "episode_0", "episode_2", "episode_10",
    ]  # fmt: skip
    recording = dataset.open(0)
    assert recording.embodiment is not None
    assert recording.embodiment.name == "g1"
    assert recording.metadata["instruction"] == "push a button"


def test_a_step_without_a_robot_type_is_of_a_robot_that_is_not_built_in(tmp_path: Path) -> None:
    folder = tmp_path / "task" / "episode_0"
    write(folder, [step(folder, number, robot=None) for number in range(2)])
    assert open_dataset(folder).open(0).embodiment is None


def test_arms_are_joints_and_legs_are_not_since_their_order_is_in_doubt(task: Path) -> None:
    recording = open_dataset(task).open(0)
    arms = recording.signals["states.arm_state"].spec
    g1 = open_robot("g1")
    assert arms.path == "observations/joint_position"
    assert arms.components == (*g1.groups["left_arm"], *g1.groups["right_arm"])
    assert recording.signals["actions.sol_q"].spec.path == "actions/joint_position_target"
    assert recording.signals["states.leg_state"].spec.components is None
    assert recording.signals["states.leg_state"].spec.path == "observations/leg_state"
    assert mapping_of(recording).mapped == 28
    assert len(ARMS) == 14


def test_stamps_are_those_of_the_steps(task: Path) -> None:
    recording = open_dataset(task).open(0)
    assert recording.epoch_ns == round(BEGIN_S * 1e9)
    stamps = recording.signals["states.arm_state"].time_ns
    assert stamps[0] == 0
    assert np.allclose(np.diff(stamps), 1e9 / 30, atol=1000)
    assert not recording.regridded


def test_values_are_where_their_names_say(task: Path) -> None:
    recording = open_dataset(task).open(0)
    base = recording.signals["states.odometry"]
    assert (base.spec.path, base.spec.frame) == ("debug/base_pose", "world")
    assert np.allclose(base[2], [0.2, 0, 0.7, 1, 0, 0, 0])
    assert recording.signals["states.imu.quaternion"].spec.components == ("qw", "qx", "qy", "qz")
    assert recording.signals["actions.left_pose"][0].shape == (4, 4)
    pressure = recording.signals["states.hand_pressure_state"]
    assert pressure[3].shape == (4, 4)
    assert pressure[3, 0, :3].tolist() == [3.0, 3.0, 3.0]
    assert np.isnan(pressure[3][:, 3]).all()
    assert recording.defects == ()


def test_depth_and_clouds_are_read_from_their_files(task: Path) -> None:
    recording = open_dataset(task).open(0)
    depth, lidar = recording.signals["depth"], recording.signals["lidar"]
    assert np.array_equal(depth[4], _depth(4))
    assert depth[1:3].shape == (2, *SIZE)
    # The file is called 101.500000.pcd, the step says 101.5.pcd.
    assert np.array_equal(lidar[1], _cloud(1))
    assert [len(cloud) for cloud in lidar[:]] == [1, 2, 3, 4, 5, 6]


def test_a_recording_imports_into_an_episode(task: Path, tmp_path: Path) -> None:
    recording = open_dataset(task).open(0)
    write_recording(recording, tmp_path / "e.h5")
    assert verify(tmp_path / "e.h5") == ()
    with Episode.open(tmp_path / "e.h5") as episode:
        assert episode.epoch_ns == recording.epoch_ns
        assert np.array_equal(episode["observations/depth"][4], _depth(4))
        assert np.array_equal(episode["observations/lidar"][5], _cloud(5))
        for path, label in episode.metadata["source_labels"].items():
            if episode[path].spec.kind == "array":
                wanted = recording.signals[label][:]
                assert np.array_equal(episode[path][:], wanted, equal_nan=True)


def test_a_depth_file_that_unpacks_to_more_is_refused(task: Path) -> None:
    bomb = task / "episode_0" / "depth" / "1.npy.lzma"
    bomb.write_bytes(lzma.compress(bytes(1 << 24)))
    depth = open_dataset(task).open(0).signals["depth"]
    with pytest.raises(EpisodeError, match="unpacks to more than 6144 bytes; expected 6144"):
        depth[1]
    bomb.write_bytes(b"nothing")
    with pytest.raises(EpisodeError, match="cannot be unpacked"):
        depth[1]


def test_steps_without_a_time_get_even_stamps(tmp_path: Path) -> None:
    folder = tmp_path / "task" / "episode_0"
    steps = [step(folder, number) for number in range(3)]
    steps[1]["time"] = None
    recording = open_dataset(write(folder, steps)).open(0)
    assert recording.regridded
    assert recording.signals["states.arm_state"].time_ns.tolist() == [0, 33333333, 66666667]


def test_no_path_leads_out_of_the_episode(task: Path) -> None:
    path = task / "episode_0" / "data.json"
    path.write_text(path.read_text().replace("depth/1.npy.lzma", "../../secret"))
    with pytest.raises(EpisodeError, match="which is not in its folder"):
        open_dataset(task).open(0)
