"""CSV motions of a G1 are read with the quaternion order that they really have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from corporeal.embodiment import open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.facts import RATE
from corporeal.errors import EpisodeError
from corporeal.exchange.formats.motion_csv import read, recognises
from corporeal.exchange.opening import open_dataset


def steps(robot: str, heading_rad: float = 0.7) -> NDArray[np.float64]:
    """A robot that sways on its left foot: x y z, w x y z, joints."""
    model = open_robot(robot)
    time = np.arange(120) / 60
    q = np.zeros((len(time), len(model.joint_names)))
    q[:, model.joint_names.index("left_hip_roll_joint")] = 0.2 * np.sin(2 * time)
    q[:, model.joint_names.index("left_hip_yaw_joint")] = 0.2 * np.sin(3 * time)
    heading = heading_rad + 0.3 * np.sin(2 * time)
    zero = np.zeros_like(time)
    wxyz = np.stack((np.cos(heading / 2), zero, zero, np.sin(heading / 2)), axis=1)
    base = np.concatenate((np.zeros((len(time), 3)), wxyz), axis=1)
    base[:, :3] -= Kinematics(model).feet(q, base).position("left")
    return np.concatenate((base, q), axis=1)


def write(path: Path, table: NDArray[np.float64], order: str) -> Path:
    table = table.copy()
    table[:, 3:7] = table[:, 3:7][:, ["wxyz".index(part) for part in order]]
    np.savetxt(path, table, delimiter=",")
    return path


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
@pytest.mark.parametrize("robot", ["g1", "g1_23dof"])
def test_the_order_of_the_quaternion_is_told_from_the_motion(
    tmp_path: Path, order: str, robot: str
) -> None:
    table = steps(robot)
    recording = open_dataset(write(tmp_path / "motion.csv", table, order)).open(0)
    assert recording.metadata["quaternion_order"] == order
    assert recording.metadata["quaternion_order_confidence"] > 0.7
    assert recording.embodiment is not None
    assert recording.embodiment.name == robot
    assert np.allclose(recording.signals["base_pose"][:], table[:, :7])
    assert np.allclose(recording.signals["joint_position"][:], table[:, 7:])


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_a_robot_that_stands_still_is_taken_to_face_forward(tmp_path: Path, order: str) -> None:
    table = np.zeros((30, 36))
    table[:, 2] = 0.78
    table[:, 3] = 1.0
    recording = open_dataset(write(tmp_path / "still.csv", table, order)).open(0)
    assert recording.metadata["quaternion_order"] == order


def test_gaps_do_not_hide_the_order(tmp_path: Path) -> None:
    table = steps("g1")
    table[40:45] = np.nan
    recording = open_dataset(write(tmp_path / "motion.csv", table, "xyzw")).open(0)
    assert recording.metadata["quaternion_order"] == "xyzw"
    assert np.isnan(recording.signals["base_pose"][:][40:45]).all()


def test_the_rate_is_assumed_aloud_unless_it_is_given(tmp_path: Path) -> None:
    path = write(tmp_path / "motion.csv", steps("g1"), "wxyz")
    assumed = read(path).open(0)
    assert assumed.signals["base_pose"].time_ns[60] == 1_000_000_000
    assert assumed.metadata["assumed"]["rate_hz"] == "60 Hz: the file states none"
    assert assumed.facts.assumptions_of(RATE)
    given = read(path, rate_hz=30.0).open(0)
    assert given.signals["base_pose"].time_ns[60] == 2_000_000_000
    assert {each.of for each in given.facts.assumed} == {"robot"}
    assert not given.facts.assumptions_of(RATE)
    named = read(path, rate_hz=30.0, robot=open_robot("g1")).open(0)
    assert named.facts.assumed == ()


@pytest.mark.parametrize(
    "text", ["", "x,y,z\n1,2,3\n", ",".join(["1"] * 36) + "\n", "1,2\n3,4\n", "\x00\xff"]
)
def test_another_table_is_not_a_motion(tmp_path: Path, text: str) -> None:
    (tmp_path / "table.csv").write_text(text)
    assert not recognises(tmp_path / "table.csv")
    assert not recognises(tmp_path)


def test_a_robot_with_other_joints_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "motion.csv", steps("g1"), "wxyz")
    with pytest.raises(EpisodeError, match="has 29 joints, but h1 has 19"):
        open_dataset(path, robot=open_robot("h1")).open(0)


def test_a_row_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "motion.csv", steps("g1"), "wxyz")
    path.write_text(path.read_text()[:-500])
    with pytest.raises(EpisodeError, match="not a table of numbers"):
        open_dataset(path).open(0)


def test_real_motions_have_the_order_that_their_source_states(shared_data: Path) -> None:
    for order, count in (("xyzw", 1), ("wxyz", 2)):
        files = sorted((shared_data / "retarget" / f"g1_csv_{order}").rglob("*.csv"))
        assert len(files) == count
        for file in files:
            metadata = open_dataset(file).open(0).metadata
            assert metadata["quaternion_order"] == order
            assert metadata["quaternion_order_confidence"] > 0.8
