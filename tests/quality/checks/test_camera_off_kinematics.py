"""A camera on the robot that sees a marker beside where its joints have it is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.calibration.marker_pictures import LEFT, draw, pose, station

from corporeal.calibration.verification import (
    CameraLook,
    camera_of,
    camera_pose,
    reference_from,
    with_reference,
)
from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import ArraySignal, ImageSequence, Recording, Signal
from corporeal.errors import NotAssessed
from corporeal.geometry import Array
from corporeal.protocol import Calibration
from corporeal.quality import Subject
from corporeal.quality.checks.camera_off_kinematics import CHECK
from corporeal.schema import Stream
from corporeal.schema.roles import BASE_POSE, JOINT_POSITION

LINK, CAMERA, PICTURES = "left_wrist_yaw_link", "observations/head_left", 5
# A camera on the hand that looks along it.
ON_HAND = {"name": "head_left", "width": 640, "height": 480, "focal_px": [600.0, 600.0],
           "centre_px": [320.0, 240.0], "frame": LINK, "xyz": [0.05, 0.0, 0.05],
           "rpy": [-1.5708, 0.0, -1.5708]}  # fmt: skip


@pytest.fixture(scope="module")
def robot() -> Embodiment:
    return open_robot("g1")


def hand_at(robot: Embodiment, q: Array) -> Array:
    """The hand (T, 4, 4) in the robot's base."""
    poses = Kinematics(robot).place_poses({"hand": LINK}, q)
    placed = np.tile(np.eye(4), (len(q), 1, 1))
    placed[:, :3, :3], placed[:, :3, 3] = poses.rotation("hand"), poses.position("hand")
    return placed


def swinging(robot: Embodiment) -> Array:
    """Joints (T, J) of a left arm that moves its wrist and elbow a little."""
    q = np.zeros((PICTURES, len(robot.joint_names)))
    swing = np.linspace(0, 1, PICTURES)
    for name, size in {"left_wrist_yaw_joint": 0.12, "left_wrist_pitch_joint": -0.1,
                       "left_elbow_joint": 0.1}.items():  # fmt: skip
        q[:, robot.joint_names.index(name)] = size * swing
    return q


@pytest.fixture(scope="module")
def calibration(robot: Embodiment) -> Calibration:
    """A hand camera, and a marker half a metre before it that is noted in the robot's base."""
    rng = np.random.default_rng(1)
    camera = camera_of(station(cameras=[ON_HAND]), "head_left")
    pictures = [draw([(LEFT, pose(0.0, 0.0, 0.5))], rng) for _ in range(6)]
    look = CameraLook("head_left", pictures, "made", hand_at(robot, swinging(robot)[:1])[0],
                      robot.base)  # fmt: skip
    plan = with_reference(None, reference_from([look], LEFT.name, LEFT, camera), {"frames": 6})
    return station(cameras=[ON_HAND], verification=plan.model_dump(mode="json"))


def episode(
    robot: Embodiment, calibration: Calibration, *, off: Array | None = None,
    slipped_rad: float = 0.0, walks: bool = False,
) -> Subject:  # fmt: skip
    """Pictures of the marker while the arm moves; the camera may be `off`, the elbow slipped."""
    q = swinging(robot)
    mounted = camera_pose(camera_of(calibration, "head_left")) @ (np.eye(4) if off is None else off)
    cameras = hand_at(robot, q) @ mounted
    marker = hand_at(robot, q[:1])[0] @ camera_pose(camera_of(calibration, "head_left"))
    marker = marker @ pose(0.0, 0.0, 0.5)
    rng = np.random.default_rng(2)
    pictures = [draw([(LEFT, np.linalg.inv(each) @ marker)], rng) for each in cameras]
    q[:, robot.joint_names.index("left_elbow_joint")] += slipped_rad
    stamps = np.arange(PICTURES, dtype=np.int64) * 100_000_000
    signals: dict[str, Signal] = {
        CAMERA: ImageSequence(
            Stream(name="head_left", group="observations", kind="video", shape=(480, 640, 3),
                   dtype="uint8", rate_hz=10), stamps, pictures),
        f"observations/{JOINT_POSITION}": ArraySignal(
            Stream(name=JOINT_POSITION, group="observations", kind="array", shape=(q.shape[1],),
                   dtype="float64", unit="rad", rate_hz=10, components=robot.joint_names),
            stamps, q),
    }  # fmt: skip
    if walks:
        base = np.tile([0.0, 0.0, 0.8, 1.0, 0.0, 0.0, 0.0], (PICTURES, 1))
        base[:, 0] = np.linspace(0, 0.5, PICTURES)
        parts = ("x", "y", "z", "qw", "qx", "qy", "qz")
        signals[f"debug/{BASE_POSE}"] = ArraySignal(
            Stream(name=BASE_POSE, group="debug", kind="array", shape=(7,), dtype="float64",
                   rate_hz=10, components=parts), stamps, base)  # fmt: skip
    documents = {"calibration": calibration.canonical()}
    return Subject(
        Recording("made", Path("made"), 0, signals, embodiment=robot, documents=documents)
    )


def test_a_marker_where_the_joints_have_it_passes(
    robot: Embodiment, calibration: Calibration
) -> None:
    assert list(CHECK.find(episode(robot, calibration))) == []


def test_a_camera_that_came_loose_on_the_hand_is_found_and_measured(
    robot: Embodiment, calibration: Calibration
) -> None:
    off = np.eye(4)
    off[0, 3] = 0.012
    (finding,) = CHECK.find(episode(robot, calibration, off=off))
    # 12 mm at half a metre through a lens of 600 px.
    assert finding.value == pytest.approx(14.4, abs=1.5)
    assert finding.stream == CAMERA
    assert "beside where the joints have it" in finding.message


def test_an_encoder_that_slipped_is_found(robot: Embodiment, calibration: Calibration) -> None:
    (finding,) = CHECK.find(episode(robot, calibration, slipped_rad=0.03))
    assert finding.value is not None
    assert finding.value > 8


def test_what_cannot_be_told_is_not_assessed(robot: Embodiment, calibration: Calibration) -> None:
    beside = calibration.model_copy(update={"cameras": station().cameras})
    bare = calibration.model_copy(update={"verification": None})
    for given, said in (
        (episode(robot, calibration, walks=True), "does not stand still"),
        (_with(episode(robot, calibration), beside), "no joint lies between"),
        (_with(episode(robot, calibration), bare), "names no markers"),
    ):
        with pytest.raises(NotAssessed, match=said):
            list(CHECK.find(given))


def _with(subject: Subject, calibration: Calibration) -> Subject:
    recording = subject.recording
    return Subject(Recording("made", Path("made"), 0, recording.signals,
                             embodiment=recording.embodiment,
                             documents={"calibration": calibration.canonical()}))  # fmt: skip
