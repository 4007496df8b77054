"""Turning and acceleration of the robot's links, averaged so that they compare with an IMU."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from corporeal.geometry import matrix_from_quaternion
from corporeal.signal.track import Array, Track

GRAVITY = 9.81
# Half of the span over which rates are averaged: noise of a tracker becomes small beside sway.
RATE_WINDOW_S = 0.25
# Half of the span over which accelerations are averaged; positions are differenced twice.
FORCE_WINDOW_S = 0.4
# Between the instants that are compared.
STEP_S = 0.05
# Correlations that tell an axis from another, and from its own opposite.
ALONG, AGAINST, CLEARLY = 0.75, 0.6, 0.35
# Fewer instants than this prove nothing about which axis is which.
MIN_INSTANTS = 40


@dataclass(frozen=True, eq=False)
class Fit:
    """How well measured axes (N, 3) are the predicted ones, as they are and at their best.

    `axes` (3, 3) is the signed permutation that fits best: measured = axes @ predicted. Errors are
    shares of the measured power that is not explained. `scale` is the size of the measured over
    that of the predicted. `is_turned` says that some axis clearly moves as another one should, or
    as its own should not.
    """

    axes: Array
    error: float
    best_error: float
    scale: float
    is_turned: bool


def continuous(quaternions: Array) -> Array:
    """The same rotations (T, 4), each on the side of the one before: a double cover unrolled."""
    if len(quaternions) < 2:
        return quaternions
    dots = np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1])
    signs = np.cumprod(np.where(dots < 0, -1.0, 1.0))
    return np.concatenate((quaternions[:1], quaternions[1:] * signs[:, None]))


def steps_rad(quaternions: Array) -> Array:
    """Angles (T-1,) of the rotation between neighbours, whatever their signs."""
    dots = np.abs(np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1]))
    chord = np.sqrt(np.maximum(2.0 - 2.0 * np.clip(dots, 0.0, 1.0), 0.0))
    angles: Array = 4.0 * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0))
    return angles


def rotation_vectors(matrices: Array) -> Array:
    """Axis times angle (..., 3) of rotation matrices, angles below a half turn."""
    twist = np.stack(
        [
            matrices[..., 2, 1] - matrices[..., 1, 2],
            matrices[..., 0, 2] - matrices[..., 2, 0],
            matrices[..., 1, 0] - matrices[..., 0, 1],
        ],
        axis=-1,
    )
    sine = np.linalg.norm(twist, axis=-1) / 2.0
    cosine = (np.trace(matrices, axis1=-2, axis2=-1) - 1.0) / 2.0
    angle = np.arctan2(sine, cosine)
    gain = np.where(sine > 1e-9, angle / np.where(sine > 1e-9, 2.0 * sine, 1.0), 0.5)
    vectors: Array = twist * gain[..., None]
    return vectors


def instants(seconds: Array, window_s: float) -> Array:
    """Times with a whole window to either side, `STEP_S` apart."""
    if len(seconds) < 2 or seconds[-1] - seconds[0] <= 2 * window_s:
        return np.zeros(0)
    first, last = float(seconds[0]) + window_s, float(seconds[-1]) - window_s
    count = max(1, int((last - first) / STEP_S))
    return np.linspace(first, last, count)


def mean_rates(seconds: Array, rotations: Array, at_s: Array, window_s: float) -> Array:
    """Angular velocities (N, 3) in the body's own axes, each the mean around an instant."""
    before = np.clip(np.searchsorted(seconds, at_s - window_s), 0, len(seconds) - 1)
    after = np.clip(np.searchsorted(seconds, at_s + window_s), 0, len(seconds) - 1)
    span = np.maximum(seconds[after] - seconds[before], 1e-9)
    between = np.swapaxes(rotations[before], 1, 2) @ rotations[after]
    rates: Array = rotation_vectors(between) / span[:, None]
    return rates


def mean_values(seconds: Array, values: Array, at_s: Array, window_s: float) -> Array:
    """Means (N, D) of a signal over the window around each instant."""
    area = _integral(seconds, values)
    after, before = _at(seconds, area, at_s + window_s), _at(seconds, area, at_s - window_s)
    return (after - before) / (2 * window_s)


def mean_accelerations(seconds: Array, positions: Array, at_s: Array, window_s: float) -> Array:
    """Accelerations (N, 3) of a point, weighted by a triangle around each instant."""
    here = _at(seconds, positions, at_s)
    around = _at(seconds, positions, at_s + window_s) + _at(seconds, positions, at_s - window_s)
    return (around - 2 * here) / window_s**2


def triangle_values(seconds: Array, values: Array, at_s: Array, window_s: float) -> Array:
    """Means (N, D) of a signal weighted by a triangle around each instant."""
    twice = _integral(seconds, _integral(seconds, values))
    here = _at(seconds, twice, at_s)
    around = _at(seconds, twice, at_s + window_s) + _at(seconds, twice, at_s - window_s)
    return (around - 2 * here) / window_s**2


def fit_axes(measured: Array, predicted: Array) -> Fit | None:
    """Which signed permutation of the predicted axes (N, 3) the measured ones are.

    None when there is too little to go by. Constant parts count for nothing.
    """
    finite = np.isfinite(measured).all(axis=1) & np.isfinite(predicted).all(axis=1)
    if np.count_nonzero(finite) < MIN_INSTANTS:
        return None
    seen, said = (each[finite] - np.mean(each[finite], axis=0) for each in (measured, predicted))
    power, model = float(np.sum(seen**2)), float(np.sum(said**2))
    if power <= 0 or model <= 0:
        return None
    # |seen - k A said|^2 with the best k needs only the 3x3 table of products.
    table = seen.T @ said / np.sqrt(power * model)
    options = [(float(np.sum(table * axes)), axes) for axes in SIGNED_PERMUTATIONS]
    agreement, axes = max(options, key=lambda option: option[0])
    own = float(np.trace(table))
    scale = float(np.sqrt(power / model))
    turned = bool(np.any(axes != np.eye(3))) and _some_axis_is_another(seen / scale, said)
    return Fit(axes, _unexplained(own), _unexplained(agreement), scale, turned)


def _some_axis_is_another(seen: Array, said: Array) -> bool:
    """Whether a measured axis runs against its own prediction, or along that of another axis.

    The sizes must agree as well: a still axis that feels a few per cent of another is no fault.
    """
    power, model = np.sqrt(np.mean(seen**2, axis=0)), np.sqrt(np.mean(said**2, axis=0))
    safe = np.where(power > 0, power, 1.0)[:, None] * np.where(model > 0, model, 1.0)
    likeness = seen.T @ said / len(seen) / safe
    ratio = power[:, None] / np.where(model > 0, model, np.inf)
    alike = (ratio > 0.4) & (ratio < 2.5)
    own = np.diagonal(likeness)
    against = (own < -AGAINST) & np.diagonal(alike)
    others = np.where(alike & ~np.eye(3, dtype=bool), np.abs(likeness), 0.0).max(axis=1)
    return bool((against | ((others > ALONG) & (others > own + CLEARLY))).any())


def describe_axes(axes: Array, names: tuple[str, ...]) -> str:
    """What stands where, such as `ax holds +y, ay holds -x, az holds +z`."""
    said = []
    for row, name in zip(axes, names, strict=False):
        column = int(np.argmax(np.abs(row)))
        said.append(f"{name} holds {'+' if row[column] > 0 else '-'}{'xyz'[column]}")
    return ", ".join(said)


def world_turns(base: Array) -> Array:
    """Rotation matrices (T, 3, 3) of base poses (T, 7)."""
    return matrix_from_quaternion(base[:, 3:7])


def columns_of(track: Track, names: tuple[str, ...], first: int) -> list[int]:
    """Where the named components stand; by position when they are not named."""
    if all(name in track.names for name in names):
        return [track.names.index(name) for name in names]
    return list(range(first, first + len(names)))


def _unexplained(agreement: float) -> float:
    # Of unit power; an agreement below zero leaves more than there was.
    return 1.0 - agreement if agreement < 0 else 1.0 - agreement**2


def _integral(seconds: Array, values: Array) -> Array:
    widths = np.diff(seconds)[:, None]
    slabs = (values[1:] + values[:-1]) / 2 * widths
    return np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(slabs, axis=0)))


def _at(seconds: Array, values: Array, at_s: Array) -> Array:
    return np.stack([np.interp(at_s, seconds, column) for column in values.T], axis=1)


def _signed_permutations() -> tuple[Array, ...]:
    found = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            axes = np.zeros((3, 3))
            axes[np.arange(3), order] = signs
            found.append(axes)
    return tuple(found)


SIGNED_PERMUTATIONS = _signed_permutations()
