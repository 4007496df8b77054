"""RH20T: pickled tables by camera and stamp, movies with stamps of their own."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from corporeal.episode import Episode
from corporeal.episode.overview import verify
from corporeal.episode.recording import VideoFile
from corporeal.errors import EpisodeError
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.opening import open_dataset

BEGIN_MS = 1_650_000_000_000
CAMERAS = {"036422060215": 0, "104122062295": 40}
COUNT = 12
Row = dict[str, Any]


def _stamps(serial: str) -> list[int]:
    return [BEGIN_MS + CAMERAS[serial] + 100 * number for number in range(COUNT)]


def _save(path: Path, values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, values, allow_pickle=True)


def _movie(path: Path) -> None:
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", rate=Fraction(10))
        stream.height, stream.width, stream.pix_fmt = 36, 64, "yuv420p"
        stream.codec_context.gop_size, stream.codec_context.max_b_frames = 10, 0
        for number in range(COUNT):
            picture = np.full((36, 64, 3), 15 * number, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def write(scene: Path, *, rating: int = 7, joints: int = 14) -> Path:
    """A scene as it is published, with two cameras."""
    scene.mkdir(parents=True)
    (scene / "metadata.json").write_text(
        json.dumps({"finish_time": BEGIN_MS + 1000, "rating": rating, "calib": 1649})
    )
    tcp: dict[str, list[Row]] = {}
    force: dict[str, list[Row]] = {}
    gripper: dict[str, dict[int, Row]] = {}
    joint: dict[str, dict[int, np.ndarray]] = {}
    for serial in CAMERAS:
        stamps = _stamps(serial)
        _save(scene / f"cam_{serial}" / "timestamps.npy", {"color": stamps, "depth": []})
        _movie(scene / f"cam_{serial}" / "color.mp4")
        pose = {stamp: np.array([stamp - BEGIN_MS, 0, 0, 1, 0, 0, 0.0]) for stamp in stamps}
        # Not in order, as some files are.
        tcp[serial] = [{"timestamp": stamp, "tcp": pose[stamp], "robot_ft": np.ones(6)}
                       for stamp in reversed(stamps)]  # fmt: skip
        force[serial] = [{"timestamp": stamp, "zeroed": np.zeros(6), "raw": np.ones(6)}
                         for stamp in stamps]  # fmt: skip
        gripper[serial] = {stamp: {"gripper_command": [60.0, 100, 30], "gripper_info": [59, 0, 1]}
                           for stamp in stamps}  # fmt: skip
        joint[serial] = {stamp: np.arange(joints) + 0.001 * (stamp - BEGIN_MS) for stamp in stamps}
    fast = {"base": [{"timestamp": BEGIN_MS + 10 * n, "tcp": np.zeros(7), "zeroed": np.zeros(6),
                      "raw": np.ones(6)} for n in range(50)]}  # fmt: skip
    tables = {"tcp_base": tcp, "force_torque_base": force, "gripper": gripper, "joint": joint,
              "high_freq_data": fast}  # fmt: skip
    for name, table in tables.items():
        _save(scene / "transformed" / f"{name}.npy", table)
    return scene


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    root = tmp_path / "RH20T_cfg5"
    write(root / "task_0001_user_0007_scene_0002_cfg_0005")
    write(root / "task_0001_user_0007_scene_0010_cfg_0005", rating=1)
    (root / "calib").mkdir()
    text = {"task_0001": {"task_description_english": "Press the button."}}
    (tmp_path / "task_description.json").write_text(json.dumps(text))
    return root


def test_scenes_are_found_with_what_their_names_say(scenes: Path) -> None:
    dataset = open_dataset(scenes)
    assert dataset.format == "rh20t"
    first, second = (dataset.open(number) for number in dataset.episodes)
    assert (first.metadata["scene"], second.metadata["scene"]) == (2, 10)
    assert first.metadata["robot_type"] == "franka"
    assert first.metadata["instruction"] == "Press the button."
    assert first.metadata["outcome"] == {"success": True}
    assert second.metadata["outcome"] == {"success": False}
    assert open_dataset(scenes / "task_0001_user_0007_scene_0002_cfg_0005").episodes == (0,)


def test_tables_of_all_cameras_are_merged_in_order_of_time(scenes: Path) -> None:
    recording = open_dataset(scenes).open(0)
    assert recording.epoch_ns == BEGIN_MS * 1_000_000
    pose = recording.signals["transformed/tcp_base.tcp"]
    assert len(pose) == 2 * COUNT
    assert (np.diff(pose.time_ns) > 0).all()
    assert np.allclose(pose[:][:, 0] * 1e6, pose.time_ns)
    assert pose.spec.components == ("x", "y", "z", "qw", "qx", "qy", "qz")
    assert recording.signals["transformed/force_torque_base.zeroed"].spec.name == "wrench"
    fast = recording.signals["transformed/high_freq_data.tcp"]
    assert (len(fast), fast.spec.rate_hz) == (50, 100.0)


def test_joints_are_those_of_the_robot_that_the_name_gives(scenes: Path) -> None:
    recording = open_dataset(scenes).open(0)
    angles = recording.signals["transformed/joint"]
    assert angles.spec.path == "observations/joint_position"
    assert angles.spec.components == tuple(f"panda_joint{number}" for number in range(1, 8))
    assert set(angles.spec.unit) == {"rad"}
    speeds = recording.signals["transformed/joint.speed"]
    assert speeds.spec.path == "observations/joint_velocity"
    assert np.allclose(speeds[:] - angles[:], 7.0)


def test_columns_that_nobody_explains_are_kept_without_a_name(tmp_path: Path) -> None:
    recording = open_dataset(write(tmp_path / "task_0001_user_0001_scene_0001_cfg_0006")).open(0)
    assert recording.signals["transformed/joint"].spec.components == tuple(
        f"lbr_iiwa_joint_{number}" for number in range(1, 8)
    )
    rest = recording.signals["transformed/joint.rest"]
    assert (rest.spec.path, rest.spec.shape) == ("observations/joint_rest", (7,))


def test_the_gripper_is_in_millimetres(scenes: Path) -> None:
    command = open_dataset(scenes).open(0).signals["transformed/gripper.gripper_command"]
    assert command.spec.path == "actions/gripper_command"
    assert command.spec.unit == ("mm", "1", "1")
    assert command[0].tolist() == [60.0, 100.0, 30.0]


def test_cameras_have_stamps_of_their_own_and_are_copied(scenes: Path, tmp_path: Path) -> None:
    recording = open_dataset(scenes).open(0)
    late = recording.signals["cam_104122062295"]
    assert isinstance(late, VideoFile)
    assert late.time_ns[0] == 40_000_000
    kept = write_recording(recording, tmp_path / "e.h5", source_format="rh20t")
    assert set(kept.cameras.values()) == {"copied"}
    assert verify(tmp_path / "e.h5") == ()
    with Episode.open(tmp_path / "e.h5") as episode:
        for path, label in episode.metadata["source_labels"].items():
            if label != "instruction":
                wanted = recording.signals[label]
                assert np.array_equal(episode[path].time_ns, wanted.time_ns)
                assert np.array_equal(episode[path][:], wanted[:])


def test_pictures_without_stamps_are_told(scenes: Path) -> None:
    folder = scenes / "task_0001_user_0007_scene_0002_cfg_0005" / "cam_036422060215"
    _save(folder / "timestamps.npy", {"color": _stamps("036422060215")[:-2]})
    (defect,) = open_dataset(scenes).open(0).defects
    assert defect.message == "cam_036422060215 has 12 pictures for 10 stamps"
    (folder / "timestamps.npy").unlink()
    recording = open_dataset(scenes).open(0)
    assert folder.name not in recording.signals
    assert recording.defects[0].check == "footage_incomplete"


class _Command:
    def __reduce__(self) -> Any:
        return os.system, ("touch gotcha",)


def test_a_table_that_wants_to_run_something_is_refused(scenes: Path) -> None:
    path = scenes / "task_0001_user_0007_scene_0002_cfg_0005" / "transformed" / "joint.npy"
    _save(path, {"036422060215": _Command()})
    with pytest.raises(EpisodeError, match=r"joint\.npy: not a pickle of numbers"):
        open_dataset(scenes).open(0)
    assert not Path("gotcha").exists()


def test_stamps_that_are_no_time_are_left_out(scenes: Path) -> None:
    path = scenes / "task_0001_user_0007_scene_0002_cfg_0005" / "transformed" / "joint.npy"
    _save(path, {"036422060215": {-5: np.zeros(14), 1 << 62: np.zeros(14), "x": np.zeros(14),
                                  BEGIN_MS: np.zeros(14), BEGIN_MS + 1: np.zeros(3)}})  # fmt: skip
    assert len(open_dataset(scenes).open(0).signals["transformed/joint"]) == 1
