"""A depth camera that no longer fits the joints is found in what it measures of the robot."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.engines import to_mjcf
from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.errors import NotAssessed
from corporeal.geometry import Array, matrix_from_rpy
from corporeal.protocol import Calibration
from corporeal.quality import Subject
from corporeal.quality.checks.depth_off_kinematics import CHECK
from corporeal.schema import Stream
from corporeal.schema.roles import JOINT_POSITION
from corporeal.simulation.rig import exact_calibration

Moved = dict[str, tuple[float, float, float]]

WIDTH, HEIGHT, PICTURES = 96, 72, 3
DEPTH, JOINTS = "observations/head_depth", f"observations/{JOINT_POSITION}"
# Both arms before the head, each its own way.
ARMS = {"left_shoulder_pitch_joint": -0.9, "left_elbow_joint": 0.5,
        "right_shoulder_pitch_joint": -0.5, "right_elbow_joint": 0.2,
        "right_shoulder_yaw_joint": 0.3}  # fmt: skip


@pytest.fixture(scope="module")
def robot() -> Embodiment:
    return open_robot("g1")


@pytest.fixture(scope="module")
def seen(robot: Embodiment) -> tuple[Array, NDArray[np.uint16]]:
    """Joints (T, J), and depth (T, H, W) in mm by MuJoCo's own rays, before a wall."""
    q = np.zeros((PICTURES, len(robot.joint_names)))
    for name, value in ARMS.items():
        swing = 0.1 * np.arange(PICTURES) if "elbow" in name else 0.0
        q[:, robot.joint_names.index(name)] = value + swing
    camera = next(c for c in exact_calibration(WIDTH, HEIGHT).cameras if c.name == "head_depth")
    assert camera.focal_px is not None
    assert camera.centre_px is not None
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    along = np.stack(
        [
            (x - camera.centre_px[0]) / camera.focal_px[0],
            (y - camera.centre_px[1]) / camera.focal_px[1],
            np.ones_like(x),
        ],
        axis=-1,
    )
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    data = mujoco.MjData(model)
    pictures = np.zeros((PICTURES, HEIGHT, WIDTH), np.uint16)
    for picture, row in zip(pictures, q, strict=True):
        for name, value in zip(robot.joint_names, row, strict=True):
            data.qpos[model.joint(name).qposadr[0]] = value
        mujoco.mj_kinematics(model, data)
        torso = data.body("torso_link")
        turn = torso.xmat.reshape(3, 3)
        place = torso.xpos + turn @ np.array(camera.xyz)
        rays = along @ (turn @ matrix_from_rpy(np.array(camera.rpy))).T
        for at in np.ndindex(HEIGHT, WIDTH):
            far = mujoco.mj_ray(
                model, data, place, rays[at], None, 1, torso.id, np.zeros(1, np.int32)
            )
            picture[at] = round(1000 * (far if 0 < far < 1.5 else 1.5))
    return q, pictures


def subject(
    robot: Embodiment, q: Array, depth: NDArray[np.uint16], moved: Moved | None = None
) -> Subject:
    """An episode whose calibration has the depth camera moved or turned by so much."""
    stamps = np.arange(PICTURES, dtype=np.int64) * 100_000_000
    exact = exact_calibration(WIDTH, HEIGHT)
    cameras = tuple(
        each.model_copy(update={field: tuple(np.add(getattr(each, field), step))
                                for field, step in (moved or {}).items()})
        for each in exact.cameras if each.name == "head_depth"
    )  # fmt: skip
    calibration: Calibration = exact.model_copy(update={"cameras": cameras})
    signals: dict[str, Signal] = {
        JOINTS: ArraySignal(
            Stream(name=JOINT_POSITION, group="observations", kind="array", shape=(q.shape[1],),
                   dtype="float64", unit="rad", rate_hz=10, components=robot.joint_names),
            stamps, q),
        DEPTH: ArraySignal(
            Stream(name="head_depth", group="observations", kind="depth", shape=(HEIGHT, WIDTH),
                   dtype="uint16", unit="mm", rate_hz=10),
            stamps, depth),
    }  # fmt: skip
    documents = {"calibration": calibration.canonical()}
    return Subject(
        Recording("made", Path("made"), 0, signals, embodiment=robot, documents=documents)
    )


def test_a_robot_that_is_seen_where_its_joints_are_passes(
    robot: Embodiment, seen: tuple[Array, NDArray[np.uint16]]
) -> None:
    assert list(CHECK.find(subject(robot, *seen))) == []


@pytest.mark.parametrize(
    "moved", [{"xyz": (0.0, 0.06, 0.0)}, {"xyz": (0.0, 0.0, 0.05)}, {"rpy": (0.0, 0.0, 0.2)}]
)
def test_a_camera_that_is_elsewhere_is_found(
    robot: Embodiment, seen: tuple[Array, NDArray[np.uint16]],
    moved: Moved,
) -> None:  # fmt: skip
    findings = list(CHECK.find(subject(robot, *seen, moved)))
    assert [finding.stream for finding in findings] == [DEPTH]


def test_depth_of_another_scale_is_found_and_measured(
    robot: Embodiment, seen: tuple[Array, NDArray[np.uint16]]
) -> None:
    q, depth = seen
    (finding,) = CHECK.find(subject(robot, q, (0.85 * depth).astype(np.uint16)))
    assert "too near (-15 % of the distance)" in finding.message


def test_arms_that_are_exchanged_are_looked_through(
    robot: Embodiment, seen: tuple[Array, NDArray[np.uint16]]
) -> None:
    q, depth = seen
    sides = {"left": "right", "right": "left"}
    names = [name.split("_", 1) for name in robot.joint_names]
    order = [robot.joint_names.index(f"{sides.get(side, side)}_{rest}") for side, rest in names]
    (finding,) = CHECK.find(subject(robot, q[:, order], depth))
    assert "looks through the robot" in finding.message


def test_what_cannot_be_told_is_not_assessed(
    robot: Embodiment, seen: tuple[Array, NDArray[np.uint16]]
) -> None:
    q, depth = seen
    away = subject(robot, q, depth, {"xyz": (3.0, 0.0, 0.0)})
    bare = Subject(Recording("made", Path("made"), 0, away.recording.signals, embodiment=robot))
    for given, said in ((bare, "no calibration document"), (away, "hardly sees the robot")):
        with pytest.raises(NotAssessed, match=said):
            list(CHECK.find(given))
