"""Which joint is which, told by weight: measured torques against those that hold the posture."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.dynamics import gravity_torques
from corporeal.errors import NotAssessed
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array

# Postures looked at: weight changes slowly.
FRAMES = 36
# On clean recordings another order explains at most 0.45 N m more than the stated one.
MIN_GAIN_NM = 0.6
MIN_SHARE = 0.1
# Legs stand on the ground, whose push the model does not know, and the waist balances the rest.
HANGING = ("left_arm", "right_arm")


@dataclass(frozen=True)
class Swap:
    """A way in which columns may be wrong: pairs exchanged, or single columns upside down."""

    pairs: tuple[tuple[str, str], ...] = ()
    flips: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Weighing:
    """How well weight explains the torques, as the columns stand and in the best other way.

    `residual` is the sum over the hanging joints of the median error, N m. `best` is set when
    another order explains clearly more; `torque_too` says that the torques are in that other
    order as well.
    """

    residual: float
    best: Swap | None
    after: float
    torque_too: bool
    losses: dict[Swap, float]
    """How much worse the torques fit if the positions were so changed, or both were, N m."""


@once_per_subject
def weigh(subject: Subject) -> Weighing:
    """Compare measured torques with weight, computed once; raises NotAssessed without torques."""
    robot = subject.robot
    torque = subject.track(roles.JOINT_TORQUE)
    posture = subject.posture
    columns = subject.joint_columns(torque)
    names = robot.joint_names
    hanging = [n for n, name in enumerate(names) if robot.group_of(name) in HANGING]
    if len(columns) < len(names) or not posture.present.all() or not hanging:
        raise NotAssessed("not every joint has a position and a torque")
    if len(posture) < FRAMES or len(torque) < FRAMES:
        raise NotAssessed("too few samples of positions and torques")
    if sum(link.inertia is not None for link in robot.links) < len(robot.links) / 2:
        raise NotAssessed(f"the masses of {robot.name} are not known")
    chosen = np.linspace(0, len(posture) - 1, FRAMES).astype(int)
    q = bridge_gaps(posture.q)[chosen]
    base = posture.base[chosen] if posture.base is not None else None
    if base is not None and not np.isfinite(base).all():
        base = None
    measured = _calm(torque.at(posture.time_ns)[:, [columns[name] for name in names]], chosen)
    swaps = swaps_of(robot)
    changed = np.concatenate([q, *(apply(swap, q, names) for swap in swaps)])
    bases = None if base is None else np.tile(base, (len(swaps) + 1, 1))
    weights = gravity_torques(subject.kinematics, changed, bases)
    weights = weights.reshape(len(swaps) + 1, FRAMES, -1)[..., hanging]
    plain = _residual(measured[:, hanging] - weights[0])
    alone = [_residual(measured[:, hanging] - weights[1 + n]) for n in range(len(swaps))]
    along = [
        _residual(apply(swap, measured, names)[:, hanging] - weights[1 + n])
        for n, swap in enumerate(swaps)
    ]
    return _judge(plain, swaps, np.array(alone), np.array(along))


def _judge(plain: float, swaps: list[Swap], alone: Array, along: Array) -> Weighing:
    either = np.minimum(alone, along)
    number = int(either.argmin())
    losses = {swap: float(loss - plain) for swap, loss in zip(swaps, either, strict=True)}
    best = None
    if plain - either[number] > max(MIN_GAIN_NM, MIN_SHARE * plain):
        best = swaps[number]
    too = bool(along[number] < alone[number])
    return Weighing(plain, best, float(either[number]), too, losses)


def _calm(values: Array, chosen: NDArray[np.int64]) -> Array:
    """Values at the chosen samples, as the median of those around: noise and blows go."""
    near = np.clip(chosen[:, None] + np.arange(-4, 5), 0, len(values) - 1)
    calm: Array = np.median(bridge_gaps(values)[near], axis=1)
    return calm


def _residual(error: Array) -> float:
    return float(np.median(np.abs(error), axis=0).sum())


def apply(swap: Swap, values: Array, names: tuple[str, ...]) -> Array:
    """The values (T, J) with columns exchanged or turned round."""
    changed = values.copy()
    for first, second in swap.pairs:
        i, j = names.index(first), names.index(second)
        changed[:, [i, j]] = changed[:, [j, i]]
    for name in swap.flips:
        changed[:, names.index(name)] *= -1
    return changed


def swaps_of(robot: Embodiment) -> list[Swap]:
    """The mistakes that people make with hanging joints: neighbours, sides, signs."""
    left, right = robot.groups.get("left_arm", ()), robot.groups.get("right_arm", ())
    known = set(robot.joint_names)
    swaps = []
    for group in (left, right):
        members = [name for name in group if name in known]
        swaps += [Swap(pairs=(pair,)) for pair in combinations(members, 2)]
        swaps += [Swap(flips=(name,)) for name in members]
    sides = [pair for pair in zip(left, right, strict=False) if set(pair) <= known]
    swaps += [Swap(pairs=(pair,)) for pair in sides]
    if len(sides) > 1:
        swaps.append(Swap(pairs=tuple(sides)))
    return swaps
