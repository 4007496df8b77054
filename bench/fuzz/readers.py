"""How each damaged file is read, as far as the program would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from corporeal.appearance.decimation import thinned
from corporeal.appearance.mesh_file import read_mesh
from corporeal.calibration.board import open_board, plot_page
from corporeal.calibration.files import read_pose_pairs, read_static_poses
from corporeal.calibration.force import leave_out_force, solve_force
from corporeal.calibration.hand_eye import find_mistakes, solve_hand_eye
from corporeal.calibration.verification import find_creeps, log_of, read_log
from corporeal.calibration.views import read_pictures
from corporeal.capture.ros.bag import open_bag, records
from corporeal.embodiment.description.mjcf import read_mjcf
from corporeal.embodiment.description.urdf import read_urdf
from corporeal.errors import CorporealError
from corporeal.exchange.opening import open_dataset
from corporeal.labelling.labels.label_file import format_of
from corporeal.operations.shifts import Roster
from corporeal.protocol import Calibration
from corporeal.quality.anomaly import open_detector
from corporeal.retargeting.reader import read_markers, read_motion
from corporeal.schema.markup import read_markup
from corporeal.teleoperation.arm_policy import ArmPolicy
from corporeal.teleoperation.inputs import webxr_capture
from corporeal.teleoperation.operator_input import read_inputs
from corporeal.teleoperation.operator_message import read_message, read_text
from corporeal.teleoperation.robot_link import LinkOptions, RobotLink, robot_drivers

JOINT = "left_elbow_joint"


@dataclass(frozen=True)
class Sample:
    """A file or folder that is whole, and which reader it is for."""

    name: str
    path: str
    reader: str


def _read_dataset(path: Path) -> None:
    dataset = open_dataset(path)
    for number in dataset.episodes[:2]:
        for signal_ in dataset.open(number).signals.values():
            # A value from the middle, or a picture: the last one is often cut off.
            if len(signal_):
                _ = signal_[len(signal_) // 2]


def _read_bag(path: Path) -> None:
    for _ in records(open_bag(path), []):
        pass


def _solve_pairs(path: Path) -> None:
    pairs = read_pose_pairs(path)
    find_mistakes(pairs, solve_hand_eye(pairs))


def _solve_rests(path: Path) -> None:
    poses = read_static_poses(path)
    leave_out_force(poses)
    solve_force(poses)


def _draw_board(path: Path) -> None:
    plot_page(open_board(str(path)))


def _read_station(path: Path) -> None:
    (document,) = path.glob("*.yaml")
    station = Calibration.load(document)
    find_creeps(read_log(log_of(document)), station.reference)


def _read_views(path: Path) -> None:
    for _ in read_pictures(path):
        pass


def _read_capture(path: Path) -> None:
    if webxr_capture.INPUT.accepts(path):
        for _ in webxr_capture.INPUT.read(path):
            pass


def _read_message(path: Path) -> None:
    data = path.read_bytes()
    if path.suffix == ".json":
        read_text(data.decode("utf-8", "replace"))
    else:
        read_message(data, 0)


def _read_hands(path: Path) -> None:
    for _ in read_inputs(next(path.glob("hands/*"), path) if path.is_dir() else path):
        pass


def _read_beside(path: Path) -> None:
    (motion,) = path.glob("*.amc")
    read_motion(motion)


def _read_mesh(path: Path) -> None:
    surface = read_mesh(path, path.parent)
    thinned([surface], max(1, len(surface) // 2))


def _read_umetrack(path: Path) -> None:
    for _ in read_inputs(path / "umetrack_hand_pose_trajectory.jsonl"):
        pass


@cache
def _link() -> RobotLink:
    link = robot_drivers()["sim"].open(LinkOptions(seed=1))
    link.put_back()
    link.read(1_000_000_000)
    return link


def _ask_policy(path: Path) -> None:
    policy = ArmPolicy(path, _link(), [JOINT], is_live=False)
    for now_ns in (1_000_000_000, 1_100_000_000):
        policy.act(now_ns)


def _read_labels(path: Path) -> None:
    format_of(path).read(path)


READERS: dict[str, Callable[[Path], Any]] = {
    "pairs": _solve_pairs,
    "rests": _solve_rests,
    "board": _draw_board,
    "station": _read_station,
    "views": _read_views,
    "capture": _read_capture,
    "message": _read_message,
    "dataset": _read_dataset,
    "bag": _read_bag,
    "motion": read_motion,
    "robot": read_urdf,
    "document": read_markup,
    "markers": read_markers,
    "beside": _read_beside,
    "mjcf": read_mjcf,
    "mesh": _read_mesh,
    "hands": _read_hands,
    "labels": _read_labels,
    "umetrack": _read_umetrack,
    "policy": _ask_policy,
    "roster": Roster.load,
    "detector": open_detector,
}


def is_read(sample: Sample) -> bool:
    """Whether its reader takes it as it is."""
    try:
        READERS[sample.reader](Path(sample.path))
    except CorporealError:
        return False
    return True
