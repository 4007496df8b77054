"""Whether a force sensor came out well: rests that do not belong to the others, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.calibration.force.solution import ForceSolution, StaticPoses, solve_rests
from corporeal.geometry import Array

# So seldom does a rest that belongs to the others lie so far from what they say of it.
_CHANCE = 1e-5
# Nobody stands still to less than this, in N and N m: what a rest is not called wrong for.
_LEAST_N, _LEAST_NM = 0.15, 0.02
# Fewer rests than these say nothing of one more.
_FEWEST_LEFT = 6
_MOST_WRONG = 4


@dataclass(frozen=True)
class ForceLimits:
    """What is good enough of a force sensor; a spread is one sigma."""

    force_n: float = 0.6
    mass_share: float = 0.02
    rotation_rad: float = 0.0349
    drift_n: float = 0.5


@dataclass(frozen=True)
class WrongRest:
    """A rest whose force or torque is not what all the others say it should be."""

    name: str
    force_n: float
    torque_nm: float


def find_wrong_rests(poses: StaticPoses) -> list[WrongRest]:
    """Rests that the others contradict, up to a quarter of all.

    One after another is left out, each time the one without which the rest agree best, so that
    several wrong ones do not hide each other.
    """
    left, out = np.arange(len(poses)), np.zeros(0, np.int64)
    wrong: list[WrongRest] = []
    most = min(_MOST_WRONG, max(len(poses) // 4, 1), len(poses) - _FEWEST_LEFT)
    for _ in range(most):
        fits = [solve_rests(poses.part(np.delete(left, number))) for number in range(len(left))]
        best = int(np.argmin([_disagreement(fit) for fit in fits]))
        out, left = np.append(out, left[best]), np.delete(left, best)
        judged = _contradicted(poses, out, fits[best], len(left))
        if all(judged):
            wrong = [rest for rest in judged if rest is not None]
    return wrong


def force_problems(
    solution: ForceSolution, left_out: tuple[float, float], wrong: Sequence[WrongRest],
    limits: ForceLimits = ForceLimits(),
) -> list[str]:  # fmt: skip
    """One sentence for whatever is wrong, or not as good as asked."""
    sentences = [
        f"rest {rest.name} does not belong to the others: they say a force that is "
        f"{rest.force_n:.2f} N and a torque that is {rest.torque_nm:.3f} N m from its own. Take it "
        "again, or leave it out."
        for rest in wrong
    ]
    if solution.drift_n is not None and solution.drift_n > limits.drift_n:
        sentences.append(
            f"it drifted by {solution.drift_n:.2f} N, more than {limits.drift_n:g} N: let it warm "
            "up, and zero it before every episode."
        )
    if left_out[0] > limits.force_n:
        sentences.append(
            f"a rest that is left out is told to {left_out[0]:.2f} N; asked for "
            f"{limits.force_n:g} N. Stand still longer, or look for drift."
        )
    mass, turn = solution.sigma[0], float(np.linalg.norm(solution.sigma[1:4]))
    if mass > limits.mass_share * abs(solution.mass_kg) or turn > limits.rotation_rad:
        sentences.append(
            f"the tool is known to {mass * 1e3:.0f} g of {solution.mass_kg * 1e3:.0f} g, the "
            f"mounting to {np.degrees(turn):.1f} degrees; asked for {100 * limits.mass_share:g} % "
            f"and {np.degrees(limits.rotation_rad):.3g} degrees. Take more rests, or a heavier "
            "tool."
        )
    return sentences


def _disagreement(fit: ForceSolution) -> float:
    """How far the rests of a solve are from it, forces and torques each by their own size."""
    force, torque = (max(scale, 1e-9) for scale in fit.scales)
    return float(3 * np.log(force) + 3 * np.log(torque))


def _contradicted(
    poses: StaticPoses, out: NDArray[np.int64], fit: ForceSolution, count: int
) -> list[WrongRest | None]:
    """Of rests that took no part, those whose force or torque is far from what the fit says."""
    one = poses.part(out)
    force, torque = fit.compensate(one.rotations, one.forces, one.torques)
    spread = fit.prediction_covariance(one.rotations)
    freedom = max(3 * count - 7, 1), max(3 * count - 6, 1)
    judged: list[WrongRest | None] = []
    for number, name in enumerate(one.names):
        sizes = float(np.linalg.norm(force[number])), float(np.linalg.norm(torque[number]))
        chances = (_chance(force[number], spread[number, :3, :3], freedom[0]),
                   _chance(torque[number], spread[number, 3:, 3:], freedom[1]))  # fmt: skip
        is_wrong = (chances[0] < _CHANCE and sizes[0] > _LEAST_N) or (
            chances[1] < _CHANCE and sizes[1] > _LEAST_NM
        )
        judged.append(WrongRest(name, *sizes) if is_wrong else None)
    return judged


def _chance(error: Array, spread: Array, freedom: int) -> float:
    """How seldom an error (3,) of this spread, known from so many numbers, is as large."""
    far = float(error @ np.linalg.solve(spread, error)) / 3
    return float(scipy.special.fdtrc(3, freedom, far))
