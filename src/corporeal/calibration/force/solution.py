"""A force and torque sensor from poses at rest: the tool's mass and middle, bias, mounting, sign.

In the sensor's frame F = s m S R^T g + F0 and T = c x (F - F0) + T0, where R turns the flange into
a frame with z up, S the flange into the sensor, and s is -1 for a sensor that reports the force of
the tool's neighbour. Mass, c, both biases and S are solved together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.camera import cross_matrices
from corporeal.errors import CorporealError
from corporeal.geometry import (
    Array,
    matrix_from_rpy,
    matrix_from_vector,
    quaternion_from_matrix,
    rotation_angle,
)
from corporeal.protocol.calibration import ForceCalibration

GRAVITY = 9.80665
FEWEST_POSES = 6
# Rests asked for, the first one again at the end: eight leave the mounting of a sensor with 0.05 N
# of noise beyond 0.2 degrees for a tool of 0.8 kg, twelve do not (`bench.calibration`).
USUAL_RESTS = 12
# Beyond this the directions of gravity are too much alike to tell the numbers apart.
WORST_CONDITION = 10.0
_UNKNOWNS = 13
# A sensor is zeroed about so often; it is watched for so long before anything is said.
ZEROED_S, FEWEST_SECONDS = 180.0, 20
# A slope beyond so many sigmas is no noise, however often it is looked at.
_CERTAIN = 6.0


@dataclass(frozen=True)
class StaticPoses:
    """Means over rests: flange in a frame with z up (N, 3, 3), forces and torques (N, 3)."""

    names: tuple[str, ...]
    rotations: Array
    forces: Array
    torques: Array

    def __len__(self) -> int:
        return len(self.forces)

    def part(self, kept: NDArray[np.int64]) -> StaticPoses:
        """Those with these numbers."""
        names = tuple(self.names[number] for number in kept)
        return StaticPoses(names, self.rotations[kept], self.forces[kept], self.torques[kept])


@dataclass(frozen=True)
class ForceSolution:
    """What hangs at the sensor, what it shows without it, and how it is mounted.

    `mounting` (3, 3) is S; `covariance` (13, 13): mass, turn of S on its left, force bias, middle
    of mass, torque bias. `scales` are how far measured forces and torques scatter, one sigma.
    """

    mass_kg: float
    centre_m: Array
    force_bias: Array
    torque_bias: Array
    mounting: Array
    sign: int
    covariance: Array
    force_residual: Array
    torque_residual: Array
    condition: float
    sign_margin: float
    drift_n: float | None
    scales: tuple[float, float]

    @property
    def sigma(self) -> Array:
        """The spread of each unknown."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def nearest_mounting(self) -> tuple[Array, float]:
        """The nearest rotation that only exchanges axes (3, 3), and how far off it is in rad."""
        choices = np.array(_axis_rotations())
        angles = rotation_angle(choices, self.mounting)
        return choices[int(angles.argmin())], float(angles.min())

    def compensate(self, rotations: Array, forces: Array, torques: Array) -> tuple[Array, Array]:
        """What the tool feels beside its own weight: forces and torques (N, 3) at the sensor."""
        weight = self._weight(rotations)
        own_torque = np.cross(self.centre_m, weight)
        return forces - weight - self.force_bias, torques - own_torque - self.torque_bias

    def prediction_covariance(self, rotations: Array) -> Array:
        """How far (N, 6, 6) force and torque of a pose that took no part may be from predicted."""
        numbers = np.concatenate(
            [[self.mass_kg], np.zeros(3), self.force_bias, self.centre_m, self.torque_bias]
        )
        slopes = _slopes(numbers, self.mounting, self.sign, _down(rotations))
        own = np.diag(np.repeat(np.square(self.scales), 3))
        return np.asarray(own + slopes @ self.covariance @ np.swapaxes(slopes, 1, 2))

    def _weight(self, rotations: Array) -> Array:
        down = _down(rotations)
        return np.asarray(self.sign * self.mass_kg * down @ self.mounting.T)


def solve_force(poses: StaticPoses) -> ForceSolution:
    """Solve all numbers of a sensor from six rests or more."""
    if len(poses) < FEWEST_POSES:
        raise CorporealError(
            f"{len(poses)} poses at rest; expected {FEWEST_POSES} or more, with the tool pointing "
            "up, down and to four sides."
        )
    condition = spread_condition(poses.rotations)
    if condition > WORST_CONDITION:
        raise CorporealError(
            f"gravity points nearly the same way in all poses (condition {condition:.0f}); "
            f"expected below {WORST_CONDITION:.0f}. Turn the tool up, down and to its sides."
        )
    return solve_rests(poses)


def solve_rests(poses: StaticPoses) -> ForceSolution:
    """The same of however few poses and wherever they point: of those that are left of a set."""
    down, condition = _down(poses.rotations), spread_condition(poses.rotations)
    mounting, sign, mass, margin = _start(down, poses.forces)
    numbers = np.zeros(_UNKNOWNS)
    numbers[0] = mass
    numbers[4:7] = poses.forces.mean(axis=0) - (sign * mass * down @ mounting.T).mean(axis=0)
    scales = (1.0, 1.0)
    for _ in range(30):
        residual = _residuals(numbers, mounting, sign, down, poses)
        slopes = _slopes(numbers, mounting, sign, down)
        weighted = slopes / np.repeat(scales, 3)[None, :, None]
        flat = weighted.reshape(-1, _UNKNOWNS)
        step = np.linalg.lstsq(flat, (residual / np.repeat(scales, 3)).ravel(), rcond=1e-12)[0]
        turn = -step[1:4]
        numbers = numbers - step
        mounting = matrix_from_vector(turn[None])[0] @ mounting
        numbers[1:4] = 0
        scales = _scales(_residuals(numbers, mounting, sign, down, poses))
        if np.abs(step).max() < 1e-10:
            break
    residual = _residuals(numbers, mounting, sign, down, poses)
    slopes = _slopes(numbers, mounting, sign, down)
    flat = (slopes / np.repeat(scales, 3)[None, :, None]).reshape(-1, _UNKNOWNS)
    covariance = np.linalg.pinv(flat.T @ flat, hermitian=True)
    return ForceSolution(
        float(numbers[0]), numbers[7:10], numbers[4:7], numbers[10:13], mounting, sign, covariance,
        np.linalg.norm(residual[:, :3], axis=1), np.linalg.norm(residual[:, 3:], axis=1),
        condition, margin, _drift(poses), scales,
    )  # fmt: skip


@dataclass(frozen=True)
class StandingDrift:
    """How a sensor at rest crept: (3,) N in `seconds`, one sigma of it, and when that was certain.

    `alarm_s` is after how long it was certain to pass the limit; None where it never was.
    """

    seconds: float
    drift_n: Array
    sigma_n: float
    alarm_s: float | None

    @property
    def worst_n(self) -> float:
        """How far the force moved in all."""
        return float(np.linalg.norm(self.drift_n))


def standing_drift(time_s: Array, forces: Array, *, max_drift_n: float) -> StandingDrift:
    """The drift of forces (T, 3) of a tool that hangs still, by a line through means of a second.

    The alarm is raised as soon as the line is beyond its noise, and steep enough to pass
    `max_drift_n` within the three minutes that lie between two zeroings.
    """
    second = np.floor(time_s - time_s[0]).astype(np.int64)
    counts = np.bincount(second)
    if len(counts) < FEWEST_SECONDS or (counts == 0).sum() > len(counts) / 2:
        raise CorporealError(
            f"{time_s[-1] - time_s[0]:.0f} s of a tool at rest; expected {FEWEST_SECONDS} s or "
            "more without gaps."
        )
    there = np.flatnonzero(counts)
    means = np.stack([np.bincount(second, axis)[there] / counts[there] for axis in forces.T], 1)
    alarm: float | None = None
    for last in range(FEWEST_SECONDS, len(there) + 1):
        slope, sigma = _slope(there[:last].astype(np.float64), means[:last])
        if (
            float(np.linalg.norm(slope)) * ZEROED_S > max_drift_n
            and (np.abs(slope) > _CERTAIN * sigma).any()
        ):
            alarm = float(there[last - 1] + 1)
            break
    slope, sigma = _slope(there.astype(np.float64), means)
    span = float(there[-1] - there[0])
    return StandingDrift(span + 1, slope * span, float(sigma.max()) * span, alarm)


def _slope(seconds: Array, means: Array) -> tuple[Array, Array]:
    """A line's slope (3,) in N/s and its sigma, by how much neighbouring seconds differ."""
    centred = seconds - seconds.mean()
    size = float((centred**2).sum())
    noise = np.sqrt((np.diff(means, axis=0) ** 2).mean(axis=0) / 2)
    return centred @ means / size, np.maximum(noise, 1e-6) / np.sqrt(size)


def compensate_wrench(
    known: ForceCalibration, up: Array, forces: Array, torques: Array
) -> tuple[Array, Array]:
    """What a calibrated sensor feels beside its tool's weight and its biases: (T, 3) each.

    `up` (T, 3) is where up is in the flange's axes; forces and torques are as measured.
    """
    mounting = matrix_from_rpy(known.mounting_rpy)
    weight = -GRAVITY * known.sign * known.mass_kg * np.asarray(up) @ mounting.T
    torque = np.cross(known.centre_m, weight)
    return forces - weight - known.force_bias_n, torques - torque - known.torque_bias_nm


def leave_out_force(poses: StaticPoses) -> tuple[float, float]:
    """Root mean square force and torque that a pose shows beyond what the others predict of it."""
    forces, torques = [], []
    for number in range(len(poses)):
        rest = poses.part(np.delete(np.arange(len(poses)), number))
        one = poses.part(np.array([number]))
        solution = solve_rests(rest)
        force, torque = solution.compensate(one.rotations, one.forces, one.torques)
        forces.append(float((force**2).sum()))
        torques.append(float((torque**2).sum()))
    return float(np.sqrt(np.mean(forces))), float(np.sqrt(np.mean(torques)))


@dataclass(frozen=True)
class NextRest:
    """A pose of the flange (w x y z, z up) to rest in, and how even the poses are with it."""

    quaternion: Array
    condition: float
    words: str


def next_rests(taken: Array, count: int = 1) -> list[NextRest]:
    """The rests that make gravity point most evenly, after those of rotations (N, 3, 3)."""
    downs = list(_down(np.asarray(taken).reshape(-1, 3, 3)) / GRAVITY)
    chosen: list[NextRest] = []
    for _ in range(count):
        down = min(_directions(), key=lambda each: _unevenness([*downs, each]))
        downs.append(down)
        rotation = _turning_down(down)
        signs = zip("xyz", down, strict=True)
        axes = [f"{'+' if value > 0 else '-'}{axis}" for axis, value in signs if abs(value) > 0.1]
        words = f"the flange's {' and '.join(axes)} {'axis' if len(axes) == 1 else 'axes'} down"
        chosen.append(NextRest(quaternion_from_matrix(rotation), _evenness(np.array(downs)), words))
    return chosen


def _directions() -> list[Array]:
    """Where gravity may point in the flange: along its axes, then between them."""
    axes = [sign * axis for axis in np.eye(3)[::-1] for sign in (1.0, -1.0)]
    between = [np.array(each) / np.sqrt(3) for each in product((1.0, -1.0), repeat=3)]
    return [*axes, *between]


def _unevenness(downs: list[Array]) -> tuple[float, float]:
    """Smaller is more even: first by the volume that the directions span, then by their middle."""
    known = np.array(downs)
    spanned = np.linalg.slogdet(known.T @ known + 1e-3 * np.eye(3))[1]
    return -float(np.round(spanned, 9)), float(np.linalg.norm(known.sum(axis=0)))


def _turning_down(down: Array) -> Array:
    """A rotation of the flange that lets gravity point along `down` in it."""
    up = -down
    other = np.eye(3)[int(np.abs(up).argmin())]
    first = np.cross(other, up)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(up, first), up])


def spread_condition(rotations: Array) -> float:
    """How unevenly gravity points through the poses: 1 is even, large is all one way."""
    return _evenness(_down(rotations) / GRAVITY)


def _evenness(directions: Array) -> float:
    if len(directions) < 3:
        return np.inf
    values = np.linalg.eigvalsh(np.cov(directions.T, bias=True))
    return float(np.sqrt(max(values[-1], 1e-9) / max(values[0], 1e-14)))


def _down(rotations: Array) -> Array:
    return np.asarray(-GRAVITY * rotations[:, 2, :])


def _start(down: Array, forces: Array) -> tuple[Array, int, float, float]:
    """Mounting, sign and mass by one turn of centred directions onto centred forces."""
    directions, centred = down - down.mean(axis=0), forces - forces.mean(axis=0)
    left, sizes, right = np.linalg.svd(centred.T @ directions)
    proper = np.linalg.det(left @ right) > 0
    sign = 1 if proper else -1
    fits = []
    for tried in (1, -1):
        flip = np.diag([1, 1, tried * np.linalg.det(left @ right)])
        mounting = tried * (left @ flip @ right)
        mass = float((sizes * np.diag(flip)).sum() / (directions**2).sum())
        error = centred - mass * directions @ (left @ flip @ right).T
        fits.append((float(np.sqrt((error**2).mean())), mounting, mass))
    best, other = (fits[0], fits[1]) if sign == 1 else (fits[1], fits[0])
    return best[1], sign, best[2], other[0] / max(best[0], 1e-12)


def _residuals(
    numbers: Array, mounting: Array, sign: int, down: Array, poses: StaticPoses
) -> Array:
    """Predicted minus measured (N, 6)."""
    weight = numbers[0] * sign * down @ mounting.T
    force = weight + numbers[4:7]
    torque = np.cross(numbers[7:10], weight) + numbers[10:13]
    return np.concatenate([force - poses.forces, torque - poses.torques], axis=1)


def _slopes(numbers: Array, mounting: Array, sign: int, down: Array) -> Array:
    """How predictions (N, 6) change by each of the numbers (N, 6, 13)."""
    centre, turned = numbers[7:10], sign * down @ mounting.T
    weight = numbers[0] * turned
    slopes = np.zeros((len(down), 6, _UNKNOWNS))
    by_turn = -cross_matrices(weight)
    held = cross_matrices(centre[None])[0]
    slopes[:, :3, 0], slopes[:, :3, 1:4], slopes[:, :3, 4:7] = turned, by_turn, np.eye(3)
    slopes[:, 3:, 0], slopes[:, 3:, 1:4] = np.cross(centre, turned), held @ by_turn
    slopes[:, 3:, 7:10], slopes[:, 3:, 10:13] = -cross_matrices(weight), np.eye(3)
    return slopes


def _scales(residual: Array) -> tuple[float, float]:
    """Sizes of the errors of forces and torques, with what was solved of each taken off."""
    count = len(residual)
    freedom = max(3 * count - 7, 1), max(3 * count - 6, 1)
    force = np.sqrt((residual[:, :3] ** 2).sum() / freedom[0])
    torque = np.sqrt((residual[:, 3:] ** 2).sum() / freedom[1])
    return max(float(force), 1e-6), max(float(torque), 1e-7)


def _drift(poses: StaticPoses) -> float | None:
    """How far the force moved between the first and the last pose, where they are the same."""
    if rotation_angle(poses.rotations[0], poses.rotations[-1]) > np.radians(1.0):
        return None
    return float(np.linalg.norm(poses.forces[-1] - poses.forces[0]))


def _axis_rotations() -> list[Array]:
    found = []
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        matrix = np.zeros((3, 3))
        matrix[np.arange(3), list(order)] = signs
        if np.linalg.det(matrix) > 0:
            found.append(matrix)
    return found
