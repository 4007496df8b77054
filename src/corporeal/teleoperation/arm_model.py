"""The joints that an operator moves, and what follows from them, one configuration at a time.

Made for a loop of a hundred steps a second: Pinocchio holds the robot, and nothing here makes an
array for every joint. For recordings there is `corporeal.embodiment.kinematics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment, joints
from corporeal.embodiment.engines import compile_pinocchio, import_pinocchio
from corporeal.errors import ModelError, UnknownNameError
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.teleoperation.operator_input import SIDES, Side


def arm_columns(robot: Embodiment, *, waist: bool = False) -> NDArray[np.int64]:
    """Which columns of the data both arms are, and with `waist` those of the torso."""
    groups = [f"{side}_arm" for side in SIDES] + (["torso"] if waist else [])
    names = [name for group in groups for name in robot.groups.get(group, ())]
    known = robot.joint_names
    columns = [known.index(name) for name in names if name in known]
    if not columns:
        raise ModelError(
            f"robot {robot.name!r} has no arm to be driven, got groups "
            f"{', '.join(robot.groups) or 'none'}; expected left_arm or right_arm. "
            "Name them in its document."
        )
    return np.array(sorted(columns), np.int64)


class ArmModel:
    """A robot whose `columns` are commanded and whose other joints and base are as measured.

    `hands` names a link or frame of each side. All poses are in the world in which the base is
    given; `place` sets the configuration that everything else answers for.
    """

    def __init__(
        self,
        robot: Embodiment,
        *,
        columns: Sequence[int] | NDArray[np.int64] | None = None,
        hands: Mapping[Side, str] | None = None,
    ) -> None:
        pin = import_pinocchio()
        self.robot = robot
        self.columns = np.asarray(arm_columns(robot) if columns is None else columns, np.int64)
        self.compiled = compile_pinocchio(robot)
        self.model: Any = self.compiled.model
        self.data: Any = self.model.createData()
        names = [robot.joint_names[column] for column in self.columns]
        numbers = [[joint.name for joint in robot.joints].index(name) for name in names]
        self.names = tuple(names)
        self.joint_numbers = np.array(numbers, np.int64)
        self.rates = self.compiled.rates[numbers]
        self._positions = self.compiled.positions[numbers]
        self.lower, self.upper, self.speed, self.effort = _limits(robot, names)
        standing = joints.standing_positions(robot)
        self.body = np.asarray(standing, np.float64).copy()
        self.base = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        if robot.standing is not None:
            self.base[2] = robot.standing.height
        self.config = self.compiled.configurations(self.body[None], self._base_row())[0]
        self.hands: dict[Side, int] = {
            side: self._frame(name) for side, name in (hands or _hand_frames(robot)).items()
        }
        self.supports = _supports(self.model, self.rates)
        self._world = pin.ReferenceFrame.WORLD
        self.base_rotation = matrix_from_quaternion(self.base[3:])
        self.place(self.body[self.columns])

    def move_body(self, body: Array, base: Array | None = None) -> None:
        """All joints (J,) as measured and the base x y z qw qx qy qz; commanded ones stay."""
        commanded = self.config[self._positions].copy()
        self.body = np.asarray(body, np.float64).copy()
        if base is not None:
            self.base = np.asarray(base, np.float64).copy()
            self.base_rotation = matrix_from_quaternion(self.base[3:])
        self.config = self.compiled.configurations(self.body[None], self._base_row())[0]
        self.config[self._positions] = commanded

    def place(self, angles: Array) -> None:
        """Put the commanded joints (n,) somewhere; placements and Jacobian follow."""
        self.config[self._positions] = angles
        import_pinocchio().computeJointJacobians(self.model, self.data, self.config)

    @property
    def angles(self) -> Array:
        """The commanded joints (n,) as they are placed."""
        return np.asarray(self.config[self._positions])

    @property
    def jacobian(self) -> Array:
        """Columns (6, n) of the commanded joints: velocity at the world's origin, and rotation."""
        return np.asarray(self.data.J[:, self.rates])

    def hand(self, side: Side) -> tuple[Array, Array]:
        """Position (3,) and axes (3, 3) of a hand."""
        pose = import_pinocchio().updateFramePlacement(self.model, self.data, self.hands[side])
        return pose.translation.copy(), pose.rotation.copy()

    def hand_jacobian(self, side: Side, position: Array) -> Array:
        """How the commanded joints (n,) move a hand at `position`: metres, then radians (6, n)."""
        frame = self.model.frames[self.hands[side]]
        rows: Array = self.jacobian * self.supports[frame.parentJoint]
        x, y, z = position
        rows[0] += rows[4] * z - rows[5] * y
        rows[1] += rows[5] * x - rows[3] * z
        rows[2] += rows[3] * y - rows[4] * x
        return rows

    def efforts(self, rates: Array, accelerations: Array) -> Array:
        """Torques (n,) that a motion of the commanded joints takes, all else at rest."""
        velocity, gain = np.zeros(self.model.nv), np.zeros(self.model.nv)
        velocity[self.rates], gain[self.rates] = rates, accelerations
        torque = import_pinocchio().rnea(self.model, self.data, self.config, velocity, gain)
        return np.asarray(torque[self.rates])

    def _base_row(self) -> Array | None:
        return self.base[None] if self.robot.floating else None

    def _frame(self, name: str) -> int:
        if not self.model.existFrame(name):
            raise UnknownNameError(
                "link or frame of a hand", name, [frame.name for frame in self.model.frames]
            )
        return int(self.model.getFrameId(name))


def _hand_frames(robot: Embodiment) -> dict[Side, str]:
    found: dict[Side, str] = {}
    for side in SIDES:
        name = robot.end_effectors.get(f"{side}_hand") or robot.end_effectors.get(side)
        if name is not None:
            found[side] = name
    if not found:
        raise ModelError(
            f"robot {robot.name!r} has no hands, got end effectors "
            f"{', '.join(robot.end_effectors) or 'none'}; expected left_hand or right_hand. "
            "Name them in its document."
        )
    return found


def _limits(robot: Embodiment, names: Sequence[str]) -> tuple[Array, Array, Array, Array]:
    """Lower and upper ends, speeds and efforts (n,); infinite where the document says nothing."""
    by_name = {joint.name: joint for joint in robot.joints}
    rows = []
    for name in names:
        joint = by_name[name]
        stated = (joint.lower, joint.upper, joint.velocity, joint.effort)
        rows.append([np.nan if value is None else value for value in stated])
    table = np.array(rows, np.float64)
    table[:, 0] = np.where(np.isnan(table[:, 0]), -np.inf, table[:, 0])
    return table[:, 0], *np.where(np.isnan(table[:, 1:]), np.inf, table[:, 1:]).T


def _supports(model: Any, rates: NDArray[np.int64]) -> Array:
    """Ones (joints, n) where a commanded joint moves what hangs on a joint."""
    supports = np.zeros((model.njoints, len(rates)))
    for number in range(1, model.njoints):
        above = {model.joints[ancestor].idx_v for ancestor in model.supports[number]}
        supports[number] = [float(int(rate) in above) for rate in rates]
    return supports
