"""The joints of a robot and the columns of its data: mimic joints, order, standing posture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.embodiment import Embodiment, Joint
from corporeal.errors import ModelError, UnknownNameError
from corporeal.geometry import Array


@dataclass(frozen=True, eq=False)
class JointMap:
    """How the J columns of the data move all N joints, those that mimic another included.

    Joint n is at `multiplier[n] * q[:, column[n]] + offset[n]`, and at `offset[n]` where no
    column moves it (`column[n]` is -1).
    """

    column: NDArray[np.int64]
    multiplier: Array
    offset: Array

    def positions(self, q: Array) -> Array:
        """Positions (N, T) of every joint from the data's (T, J)."""
        return self.rates(q) + self.offset[:, None]

    def rates(self, dq: Array) -> Array:
        """Velocities or accelerations (N, T) of every joint from the data's (T, J)."""
        rates = np.zeros((len(self.column), len(dq)))
        driven = self.column >= 0
        rates[driven] = dq.T[self.column[driven]] * self.multiplier[driven, None]
        return rates

    def efforts(self, efforts: Array, columns: int) -> Array:
        """Efforts (T, J) of the motors that give every joint its effort (N, T)."""
        motors = np.zeros((efforts.shape[1], columns))
        for joint in np.flatnonzero(self.column >= 0):
            motors[:, self.column[joint]] += self.multiplier[joint] * efforts[joint]
        return motors


def joint_map(embodiment: Embodiment, passive: Mapping[str, float]) -> JointMap:
    """The map of a robot; `passive` places joints that have neither a motor nor a leader."""
    columns = {name: index for index, name in enumerate(embodiment.joint_names)}
    by_name = {joint.name: joint for joint in embodiment.joints}
    free = [n for n, joint in by_name.items() if joint.mimic is None and n not in columns]
    for name in passive:
        if name not in free:
            raise UnknownNameError("passive joint", name, free)
    rows = []
    for joint in embodiment.joints:
        multiplier, offset, leader = 1.0, 0.0, joint
        for _ in embodiment.joints:
            if leader.mimic is None:
                break
            offset += multiplier * leader.mimic.offset
            multiplier *= leader.mimic.multiplier
            leader = by_name[leader.mimic.joint]
        else:
            raise ModelError(
                f"mimic joints of robot {embodiment.name!r} follow each other in a circle, "
                f"got {joint.name!r}; expected a leader with a motor. Mend the mimic entries."
            )
        column = columns.get(leader.name, -1)
        rows.append((column, multiplier, offset + multiplier * passive.get(leader.name, 0.0)))
    table = np.array(rows, np.float64).reshape(-1, 3)
    return JointMap(table[:, 0].astype(np.int64), table[:, 1], table[:, 2])


def outward_joints(embodiment: Embodiment) -> list[Joint]:
    """All joints, depth first from the base and otherwise in the document's order."""
    children: dict[str, list[Joint]] = {}
    for joint in embodiment.joints:
        children.setdefault(joint.parent, []).append(joint)
    found: list[Joint] = []
    waiting = list(reversed(children.get(embodiment.base, [])))
    while waiting:
        joint = waiting.pop()
        found.append(joint)
        waiting.extend(reversed(children.get(joint.child, [])))
    return found


def standing_positions(embodiment: Embodiment) -> Array:
    """Joint positions (J,) of the standing posture: zero, or the nearest limit, if not named."""
    posture = {} if embodiment.standing is None else embodiment.standing.posture
    lower = np.array([-np.inf if j.lower is None else j.lower for j in embodiment.actuated])
    upper = np.array([np.inf if j.upper is None else j.upper for j in embodiment.actuated])
    named = np.array([posture.get(j.name, np.nan) for j in embodiment.actuated])
    return np.where(np.isnan(named), np.clip(0.0, lower, upper), named)
