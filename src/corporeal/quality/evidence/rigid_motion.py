"""Where a sensor sits on the robot, and how its link turns and accelerates there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import foot_axes
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.kinematics import Kinematics, Mount, Poses, ancestors, mount_of
from corporeal.errors import NotAssessed
from corporeal.geometry import rotation_vectors
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.signal.grid import MOST_STEPS
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


@once_per_subject
def mounted(subject: Subject, ending: str) -> list[tuple[Track, Mount]]:
    """Every stream whose role ends so, where its sensor has a place on the robot."""
    tracks = subject.ending_in(ending).values()
    placed = ((track, mount_of(subject.robot, track.spec)) for track in tracks)
    return [(track, mount) for track, mount in placed if mount is not None]


@once_per_subject
def poses_in_base(subject: Subject) -> Poses:
    """Every link on the state's clock as seen from the base, whatever the base does."""
    require_finite(subject)
    return subject.kinematics.link_poses(subject.posture.q)


def require_finite(subject: Subject) -> None:
    """Raise NotAssessed where there is no frame with all joints, and the base if it is recorded."""
    posture = subject.posture
    whole = np.isfinite(posture.q).all(axis=1)
    if posture.base is not None:
        whole &= np.isfinite(posture.base).all(axis=1)
    if not whole.any():
        raise NotAssessed(f"no sample of {posture.label} is complete")


@once_per_subject
def foot_links(subject: Subject) -> dict[str, tuple[str, Array]]:
    """The link of every foot and where the sole is on it (3, 4), for the feet the data moves."""
    kinematics = subject.kinematics
    soles = model_of(subject.robot, _soles)
    found = {}
    for name, place in subject.robot.feet.items():
        number, placement = kinematics.place(place)
        if has_chain(subject, kinematics.names[number]):
            sole = np.column_stack([soles[name], placement[:, 3]])
            found[name] = (kinematics.names[number], sole)
    if not found:
        raise NotAssessed(f"the legs of {subject.robot.name} are not in {subject.posture.label}")
    return found


def _soles(robot: Embodiment) -> dict[str, Array]:
    return {name: foot_axes(robot, name) for name in robot.feet}


def outward(kinematics: Kinematics, link: str) -> list[int]:
    """Numbers of a link and of all that hangs on it."""
    found = [kinematics.names.index(link)]
    for step in kinematics.steps:
        if step.parent in found:
            found.append(step.child)
    return found


def names_outward(kinematics: Kinematics, link: str) -> list[str]:
    """Names of a link and of all that hangs on it."""
    return [kinematics.names[number] for number in outward(kinematics, link)]


def beyond_kg(subject: Subject, link: str) -> float:
    """Mass of a link and of all that hangs on it."""
    masses, _, _ = subject.kinematics.inertias
    return float(masses[outward(subject.kinematics, link)].sum())


@once_per_subject
def has_chain(subject: Subject, link: str) -> bool:
    """Whether the data has every joint between a link and the base."""
    robot = subject.robot
    present = dict(zip(robot.joint_names, subject.posture.present.tolist(), strict=True))
    leaders = {joint.name: joint.mimic.joint for joint in robot.joints if joint.mimic is not None}
    chain = ancestors(robot, link)
    return all(present.get(leaders.get(name, name), False) for name in chain)


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


def steps_rad(quaternions: Array) -> Array:
    """Angles (T-1,) of the rotation between neighbours, whatever their signs."""
    dots = np.abs(np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1]))
    chord = np.sqrt(np.maximum(2.0 - 2.0 * np.clip(dots, 0.0, 1.0), 0.0))
    return np.asarray(4.0 * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0)))


def instants(seconds: Array, window_s: float) -> Array:
    """Times with a whole window to either side, `STEP_S` apart."""
    if len(seconds) < 2 or seconds[-1] - seconds[0] <= 2 * window_s:
        return np.zeros(0)
    first, last = float(seconds[0]) + window_s, float(seconds[-1]) - window_s
    count = min(max(1, int((last - first) / STEP_S)), MOST_STEPS)
    return np.linspace(first, last, count)


def mean_rates(seconds: Array, rotations: Array, at_s: Array, window_s: float) -> Array:
    """Angular velocities (N, 3) in the body's own axes, each the mean around an instant."""
    before = np.clip(np.searchsorted(seconds, at_s - window_s), 0, len(seconds) - 1)
    after = np.clip(np.searchsorted(seconds, at_s + window_s), 0, len(seconds) - 1)
    span = np.maximum(seconds[after] - seconds[before], 1e-9)
    between = np.swapaxes(rotations[before], 1, 2) @ rotations[after]
    return np.asarray(rotation_vectors(between) / span[:, None])


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
