"""A station whose calibration is known exactly: four cameras, an arm, a force sensor, boards.

Everything that a calibration has to find is here: lenses, poses, the robot's own error, what hangs
at the sensor; and what happens to a station: cameras warm up, and somebody knocks against one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from corporeal.calibration.board import Board
from corporeal.calibration.force import GRAVITY, StaticPoses
from corporeal.calibration.hand_eye import Mount, inverse, next_hand_poses, pose_matrix
from corporeal.calibration.lens import Lens
from corporeal.errors import UnknownNameError
from corporeal.geometry import Array, matrix_from_rpy

# Of a lens that warms up: its focal length grows by this share, its mount creeps by so much.
_WARM_SHARE_PER_MIN, _WARM_M_PER_MIN = 2e-6, 4e-6
# How much stations differ from each other.
_ELSEWHERE_M, _ELSEWHERE_RAD = 0.02, 0.05
_SIZE = (640, 480)


@dataclass(frozen=True)
class SimulatedCamera:
    """A camera as it truly is: its lens, and its pose (4, 4) on the hand or in the base."""

    name: str
    lens: Lens
    pose: Array
    mount: Mount
    frame: str
    moved: Array | None = None


@dataclass(frozen=True)
class SimulatedTool:
    """What hangs at the force sensor, and how the sensor sits on the flange."""

    mass_kg: float
    centre_m: Array
    force_bias: Array
    torque_bias: Array
    mounting: Array
    noise_n: float = 0.05


@dataclass(frozen=True)
class SimulatedRig:
    """The whole station. The robot reports its hand with an error of its own, another each time."""

    cameras: tuple[SimulatedCamera, ...]
    tool: SimulatedTool
    held_board: Array
    table_board: Array
    board: Board
    robot_m: float = 0.0005
    robot_rad: float = 0.001745

    def camera(self, name: str) -> SimulatedCamera:
        """One camera by name."""
        for each in self.cameras:
            if each.name == name:
                return each
        raise UnknownNameError("camera", name, tuple(each.name for each in self.cameras))

    def home(self, name: str) -> Array:
        """Where a camera was (4, 4) before anything happened to it."""
        camera = self.camera(name)
        moved = np.eye(4) if camera.moved is None else camera.moved
        return np.asarray(camera.pose @ np.linalg.inv(moved))

    def bumped(self, name: str, shift_m: float, turn_rad: float = 0.0) -> SimulatedRig:
        """The same after somebody knocked a camera: shifted along its x, turned about its y."""
        self.camera(name)
        knock = pose_matrix([0.0, turn_rad, 0.0], [shift_m, 0.0, 0.0])
        moved = [_carried(each, knock) if each.name == name else each for each in self.cameras]
        return replace(self, cameras=tuple(moved))

    def warmed(self, minutes: float) -> SimulatedRig:
        """The same after the cameras ran for some minutes: focal lengths grow, mounts creep."""
        moved = []
        for each in self.cameras:
            values = each.lens.values.copy()
            values[:2] *= 1 + _WARM_SHARE_PER_MIN * minutes
            creep = pose_matrix([0.0, 0.0, 0.0], [0.0, _WARM_M_PER_MIN * minutes, 0.0])
            moved.append(_carried(replace(each, lens=each.lens.with_values(values)), creep))
        return replace(self, cameras=tuple(moved))

    def hands(self, name: str, count: int, rng: np.random.Generator) -> list[Array]:
        """Where the hand truly goes (4, 4), so that a camera sees its board from many sides."""
        camera = self.camera(name)
        board = self.table_board if camera.mount == "eye_in_hand" else self.held_board
        away = 0.4 if camera.mount == "eye_in_hand" else 0.55
        asked = next_hand_poses(camera.pose, board, camera.lens, self.board, mount=camera.mount,
                                count=count, distance_m=away)  # fmt: skip
        return [each.effector @ pose_matrix(rng.normal(0, 0.03, 3), rng.normal(0, 0.008, 3))
                for each in asked]  # fmt: skip

    def reported(self, hand: Array, rng: np.random.Generator) -> Array:
        """What the robot says of where its hand is."""
        error = pose_matrix(rng.normal(0, self.robot_rad, 3), rng.normal(0, self.robot_m, 3))
        return np.asarray(hand @ error)

    def seen_board(self, name: str, hand: Array) -> Array:
        """Where the board is in a camera (4, 4) while the hand is there."""
        camera = self.camera(name)
        if camera.mount == "eye_in_hand":
            return np.asarray(inverse((hand @ camera.pose)[None])[0] @ self.table_board)
        return np.asarray(inverse(camera.pose[None])[0] @ hand @ self.held_board)

    def rests(self, rng: np.random.Generator) -> StaticPoses:
        """The force sensor with the tool up, down, to four sides and between; the first again."""
        turns = [(0, 0, 0), (np.pi, 0, 0), (np.pi / 2, 0, 0), (-np.pi / 2, 0, 0), (0, np.pi / 2, 0),
                 (0, -np.pi / 2, 0), (0.8, 0.4, 0), (-0.6, 0.9, 0.5), (0, 0, 0)]  # fmt: skip
        rotations = matrix_from_rpy(np.array(turns, np.float64))
        tool = self.tool
        down = rotations.transpose(0, 2, 1) @ np.array([0.0, 0.0, -GRAVITY])
        weight = tool.mass_kg * down @ tool.mounting.T
        torques = np.cross(tool.centre_m, weight) + tool.torque_bias
        return StaticPoses(
            tuple(str(number) for number in range(1, len(turns) + 1)), rotations,
            weight + tool.force_bias + rng.normal(0, tool.noise_n, weight.shape),
            torques + rng.normal(0, tool.noise_n / 20, torques.shape),
        )  # fmt: skip


def _carried(camera: SimulatedCamera, move: Array) -> SimulatedCamera:
    before = np.eye(4) if camera.moved is None else camera.moved
    return replace(camera, pose=camera.pose @ move, moved=before @ move)


def simulated_rig(board: Board, seed: int) -> SimulatedRig:
    """A station of four cameras: two in the head, one before the robot, one on its right wrist."""
    rng = np.random.default_rng(seed)
    # Optical frames: x right, y down, z ahead. The base has x ahead, y left, z up.
    ahead = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    down = matrix_from_rpy((0.0, 0.6, 0.0))
    back = matrix_from_rpy((0.0, 0.35, np.pi))
    placed: list[tuple[str, Mount, str, Array, list[float]]] = [
        ("head_left", "eye_to_hand", "world", down @ ahead, [0.05, 0.033, 0.45]),
        ("head_right", "eye_to_hand", "world", down @ ahead, [0.05, -0.033, 0.45]),
        ("external_front", "eye_to_hand", "world", back @ ahead, [1.3, 0.1, 0.45]),
        ("wrist_right", "eye_in_hand", "right_wrist_yaw_link", matrix_from_rpy((0.3, 0.1, 1.5)),
         [0.04, 0.02, 0.05]),
    ]  # fmt: skip
    cameras = []
    for name, mount, frame, turn, place in placed:
        off = pose_matrix(rng.normal(0, _ELSEWHERE_RAD, 3), rng.normal(0, 1, 3))
        pose = np.eye(4)
        pose[:3, :3] = turn @ off[:3, :3]
        pose[:3, 3] = np.array(place) + _ELSEWHERE_M * off[:3, 3] * (name != "head_right")
        cameras.append(SimulatedCamera(name, _lens(rng), pose, mount, frame))
    tool = SimulatedTool(
        float(rng.uniform(0.5, 1.2)), rng.normal([0, 0, 0.06], 0.01), rng.normal(0, 5, 3),
        rng.normal(0, 0.2, 3), matrix_from_rpy(rng.normal([0, 0, 0.8], 0.1)),
    )  # fmt: skip
    held = pose_matrix(rng.normal([0.1, 0.2, 0.3], 0.05), rng.normal([-0.1, -0.08, 0.1], 0.01))
    table = pose_matrix([np.pi, 0.0, 0.0], rng.normal([0.4, 0.08, 0.0], 0.01))
    return SimulatedRig(tuple(cameras), tool, held, table, board)


def _lens(rng: np.random.Generator) -> Lens:
    width, height = _SIZE
    focal = rng.uniform(500, 560)
    values = [focal, focal * rng.uniform(0.995, 1.005), width / 2 + rng.normal(0, 6),
              height / 2 + rng.normal(0, 6), rng.normal(-0.25, 0.03), rng.normal(0.08, 0.01),
              rng.normal(0, 5e-4), rng.normal(0, 5e-4), 0.0]  # fmt: skip
    return Lens("pinhole", width, height, np.array(values))
