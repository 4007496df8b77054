"""Motions as pickle and npz are read as their writers meant them, and what is open is told."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exchange.formats.test_motion_csv import steps

from corporeal.embodiment import open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import EpisodeError
from corporeal.exchange.formats.motion_arrays import read, recognises
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.robot_motion import breadth_first


def _gmr(order: str, **changed: Any) -> dict[str, Any]:
    table = steps("g1")
    rotation = table[:, 3:7][:, ["wxyz".index(part) for part in order]]
    return {
        "fps": 60,
        "root_pos": table[:, :3],
        "root_rot": rotation,
        "dof_pos": table[:, 7:],
        "local_body_pos": None,
        "link_body_list": None,
        **changed,
    }


def _pickled(path: Path, content: Any) -> Path:
    path.write_bytes(pickle.dumps(content, 4))
    return path


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_either_order_that_retargeting_scripts_write_is_told(tmp_path: Path, order: str) -> None:
    recording = open_dataset(_pickled(tmp_path / "walk.pkl", _gmr(order))).open(0)
    table = steps("g1")
    assert recording.metadata["quaternion_order"] == order
    assert np.allclose(recording.signals["base_pose"][:], table[:, :7])
    assert np.allclose(recording.signals["joint_position"][:], table[:, 7:])
    assert recording.embodiment is not None
    assert recording.embodiment.name == "g1"
    assert recording.metadata["fps"] == 60
    assert {each.of for each in recording.facts.assumed} == {"robot"}


def test_a_compressed_pickle_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "walk.pkl"
    path.write_bytes(gzip.compress(pickle.dumps(_gmr("wxyz"), 5)))
    assert np.allclose(open_dataset(path).open(0).signals["base_pose"][:], steps("g1")[:, :7])


def test_several_motions_of_one_file_are_episodes(tmp_path: Path) -> None:
    table = steps("g1")
    motion = {
        "root_trans_offset": table[:, :3],
        "root_rot": table[:, [4, 5, 6, 3]],
        "dof": table[:, 7:],
        "fps": 30,
        "contact_mask": np.ones((len(table), 2), np.float32),
    }
    dataset = open_dataset(_pickled(tmp_path / "all.pkl", {"a": motion, "b": motion}))
    assert [recording.id for recording in dataset] == ["a", "b"]
    assert dataset.open(1).signals["contact_mask"][:].shape == (120, 2)


@pytest.mark.parametrize("has_names", [False, True])
def test_columns_in_the_order_of_a_simulator_are_told_by_where_the_links_are(
    tmp_path: Path, has_names: bool
) -> None:
    robot = open_robot("g1")
    table = steps("g1")
    table[:, 7:] += 0.1 * np.sin(np.arange(29) + np.arange(120)[:, None] / 20)
    links = Kinematics(robot).link_poses(table[:, 7:], table[:, :7]).positions
    order = breadth_first(robot)
    assert order[:4] == (
        "left_hip_pitch_joint", "right_hip_pitch_joint", "waist_yaw_joint", "left_hip_roll_joint",
    )  # fmt: skip
    columns = [robot.joint_names.index(name) for name in order]
    content: dict[str, Any] = {
        "fps": np.array([50]),
        "joint_pos": table[:, 7:][:, columns],
        "joint_vel": np.gradient(table[:, 7:][:, columns], axis=0) * 50,
        "body_pos_w": links,
        "body_quat_w": np.repeat(table[:, None, 3:7], links.shape[1], axis=1),
    }
    if has_names:
        content["joint_names"] = np.array(order)
    np.savez(tmp_path / "motion.npz", **content)
    recording = open_dataset(tmp_path / "motion.npz").open(0)
    assert recording.signals["joint_position"].spec.components == order
    assert np.allclose(recording.signals["base_pose"][:], table[:, :7])
    assert recording.metadata["fps"] == 50


def test_a_rate_that_is_not_stated_follows_from_the_velocities(tmp_path: Path) -> None:
    content = _gmr("wxyz", dof_vel=np.gradient(steps("g1")[:, 7:], axis=0) * 120)
    del content["fps"]
    metadata = open_dataset(_pickled(tmp_path / "a.pkl", content)).open(0).metadata
    assert metadata["fps"] == 120
    assert "from its joint velocities" in metadata["assumed"]["rate_hz"]
    del content["dof_vel"]
    path = _pickled(tmp_path / "b.pkl", content)
    metadata = open_dataset(path).open(0).metadata
    assert metadata["assumed"]["rate_hz"] == "30 Hz: the file states none"
    metadata = read(path, rate_hz=50.0).open(0).metadata
    assert metadata["fps"] == 50
    assert "rate_hz" not in metadata["assumed"]


def test_a_free_joint_is_the_base_and_split_points_are_episodes(tmp_path: Path) -> None:
    table = steps("g1")
    robot = open_robot("g1")
    np.savez(
        tmp_path / "t.npz",
        qpos=table,
        joint_names=np.array(["root", *robot.joint_names]),
        jnt_type=np.array([0] + [3] * 29),
        frequency=60.0,
        split_points=np.array([0, 50, 120]),
    )
    dataset = open_dataset(tmp_path / "t.npz")
    assert len(dataset) == 2
    assert np.allclose(dataset.open(1).signals["base_pose"][:], table[50:, :7])
    assert np.allclose(dataset.open(0).signals["joint_position"][:], table[:50, 7:])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"root_pos": np.zeros((3, 3))}, "3 rows of base position, but 120 of the joints"),
        ({"dof_pos": np.zeros((120, 29, 2))}, "dof_pos has 3 axes; expected 2"),
        ({"dof_pos": np.zeros((0, 29)), "root_pos": np.zeros((0, 3)), "root_rot": np.zeros((0, 4))},
         "no frame in it"),
        ({"dof_pos": "angles"}, "dof_pos is no array"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_one_sentence(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    path = _pickled(tmp_path / "bad.pkl", _gmr("wxyz", **changed))
    with pytest.raises(EpisodeError, match=message):
        open_dataset(path).open(0)


def test_another_robot_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = _pickled(tmp_path / "walk.pkl", _gmr("wxyz"))
    with pytest.raises(EpisodeError, match=r"has 29 joints, but h1 has 19\..*--robot"):
        open_dataset(path, robot=open_robot("h1")).open(0)


def test_a_named_robot_that_the_axes_in_the_file_refute_is_refused(shared_data: Path) -> None:
    path = shared_data / "retarget" / "asap_g1_23dof"
    with pytest.raises(EpisodeError, match=r"other axes than those of g1_23dof; .* those of g1\."):
        open_dataset(path, robot=open_robot("g1_23dof")).open(0)
    assert open_dataset(path, robot=open_robot("g1")).open(0).embodiment is not None


def test_other_files_are_not_taken_for_motions(tmp_path: Path, shared_data: Path) -> None:
    np.savez(tmp_path / "a.npz", poses=np.zeros((5, 72)), trans=np.zeros((5, 3)))
    _pickled(tmp_path / "b.pkl", {"weights": np.zeros(5)})
    assert not recognises(tmp_path)
    assert not recognises(shared_data / "retarget" / "asap_smpl_human")


def test_published_motions_name_the_joints_that_they_move(shared_data: Path) -> None:
    dataset = open_dataset(shared_data / "retarget" / "asap_g1_23dof")
    assert len(dataset) == 19
    for recording in dataset:
        columns = recording.signals["joint_position"].spec.components or ()
        assert columns[12:16] == (
            "waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint", "left_shoulder_pitch_joint",
        )  # fmt: skip
        assert not any("wrist" in name for name in columns)
        assert recording.metadata["fps"] == 30
        assert {each.of for each in recording.facts.assumed} == {"robot"}


def test_published_motions_of_simulators_keep_their_names_and_rates(shared_data: Path) -> None:
    for recording in open_dataset(shared_data / "retarget" / "isaaclab_amp"):
        assert recording.metadata["fps"] == 60
        assert (recording.signals["joint_position"].spec.components or ())[0] == "abdomen_x"
    for recording in open_dataset(shared_data / "retarget" / "locomujoco"):
        assert recording.metadata["fps"] == 500
        height = recording.signals["base_pose"][:, 2]
        forward = recording.signals["base_pose"][:, 0]
        # A walk: a metre forward in a second, up and down by a few centimetres.
        assert 0.7 < forward[-1] - forward[0] < 2.0
        assert np.ptp(height) < 0.1
