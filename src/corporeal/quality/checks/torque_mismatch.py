"""Joint torques carry what the robot weighs."""

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.kinematics import ancestors
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.foot_stance import load_sides
from corporeal.quality.evidence.forces import StaticTorques, static_torques
from corporeal.quality.subject import Subject, attempt
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array
from corporeal.words import some_of

# Factors that have a name; others are given as numbers.
NAMED = {-1.0: "has the wrong sign", 0.001: "is in kN m", 1000.0: "is in mN m"}
# Of the frames, at least this share must carry enough for a factor to be read from them.
LOADED_SHARE = 0.4


def find(
    subject: Subject,
    *,
    body_share: float = 0.08,
    arm_share: float = 0.05,
    floor_nm: float = 0.4,
    min_factor: float = 0.5,
    max_factor: float = 2.0,
    max_payload_n: float = 30.0,
) -> Findings:
    """Yield joints whose torque is a multiple of what the load asks, or off by a constant.

    Expected is what holds all links beyond the joint, with the forces that wrists and ankles
    measure; a hand without a sensor may hold up to `max_payload_n`. Legs are left out where no
    ankle is measured. A torque is off beyond `body_share` or `arm_share` of the joint's limit and
    `floor_nm`: friction and acceleration stay below that.

    Why: torques of the wrong sign, scale or zero teach a policy forces that never were.
    Fix: correct the gear ratio, the sign or the zero of the joints named.
    """
    torques = static_torques(subject)
    effort = np.array([joint.effort or 0.0 for joint in subject.robot.actuated])
    arms = _arm_joints(subject)
    room = np.where(arms, arm_share, body_share) * effort + floor_nm
    usable = torques.known & (effort > 0) & np.isfinite(torques.measured).all(axis=0)
    sides = attempt(load_sides, subject)
    if sides is not None and sides.exchanged:
        # The ankles are on each other's foot, which is said elsewhere: the legs cannot be judged.
        usable &= ~_leg_joints(subject)
    if not usable.any():
        raise NotAssessed("no joint whose load is known")
    expected = _nearest(torques, max_payload_n)
    # The weight shifts between two legs in ways that no sensor shows: they need more to tell.
    factor = _factors(torques.measured, expected, room * np.where(arms, 0.5, 0.8), usable)
    scaled = np.isfinite(factor) & ((factor < min_factor) | (factor > max_factor))
    miss = np.median(torques.measured - expected, axis=0)
    offset = usable & ~scaled & (np.abs(miss) > room)
    for value, columns in _groups(factor, scaled):
        yield _scaled(subject, torques, expected, value, columns)
    for column in np.flatnonzero(offset):
        yield _offset(subject, torques, expected, float(miss[column]), int(column), room)


def _leg_joints(subject: Subject) -> Flags:
    places = [subject.kinematics.place(place)[0] for place in subject.robot.feet.values()]
    links = [subject.kinematics.names[link] for link in places]
    legs = {name for link in links for name in ancestors(subject.robot, link)}
    return np.array([name in legs for name in subject.robot.joint_names])


def _arm_joints(subject: Subject) -> Flags:
    """Joints with one end effector beyond them and no foot: what they carry is light."""
    counts = dict.fromkeys(subject.robot.joint_names, 0)
    for place in subject.robot.end_effectors.values():
        link = subject.kinematics.names[subject.kinematics.place(place)[0]]
        for name in ancestors(subject.robot, link):
            if name in counts:
                counts[name] += 1
    return np.array([count == 1 for count in counts.values()]) & ~_leg_joints(subject)


def _nearest(torques: StaticTorques, payload_n: float) -> Array:
    """The expected torque that is nearest to the measured, whatever an unweighed hand may hold."""
    most = torques.expected + np.where(torques.bare, payload_n, 0.0) * torques.lever
    low, high = np.minimum(torques.expected, most), np.maximum(torques.expected, most)
    return np.clip(torques.measured, low, high)


def _factors(measured: Array, expected: Array, least: Array, usable: Flags) -> Array:
    """Measured over expected (J,), by the median of loaded frames; NaN where too few are."""
    factors = np.full(measured.shape[1], np.nan)
    for column in np.flatnonzero(usable):
        loaded = np.abs(expected[:, column]) > least[column]
        if loaded.mean() < LOADED_SHARE:
            continue
        ratio = measured[loaded, column] / expected[loaded, column]
        middle = float(np.median(ratio))
        away = np.abs(measured[loaded, column] - expected[loaded, column])
        # A factor explains: what it leaves must be small against what it removes.
        left = np.abs(measured[loaded, column] - middle * expected[loaded, column])
        if np.median(away) > least[column] and np.median(left) < 0.35 * np.median(away):
            factors[column] = middle
    return factors


def _groups(factor: Array, scaled: Flags) -> list[tuple[float, NDArray[np.int64]]]:
    """Joints that share a factor, to a quarter, told together."""
    found: list[tuple[float, NDArray[np.int64]]] = []
    left = list(np.flatnonzero(scaled))
    while left:
        middle = factor[left[0]]
        near = [k for k in left if abs(factor[k] - middle) <= 0.35 * abs(middle) + 0.02]
        found.append((float(np.median(factor[near])), np.array(near)))
        left = [column for column in left if column not in near]
    return found


def _scaled(
    subject: Subject,
    torques: StaticTorques,
    expected: Array,
    factor: float,
    columns: NDArray[np.int64],
) -> Finding:
    names = [subject.robot.joint_names[column] for column in columns]
    said = next((text for gain, text in NAMED.items() if 0.75 < factor / gain < 1.3), None)
    said = said or f"is {factor:.2g} times what the load asks"
    return Finding(
        f"the torque of {some_of(names)} in {torques.label} {said}: "
        f"{_usual(torques.measured[:, columns[0]])} N m where {names[0]} carries "
        f"{_usual(expected[:, columns[0]])}.",
        stream=torques.label,
        value=factor,
        limit=1.0,
        evidence=_curves(subject, torques, expected, int(columns[0])),
    )


def _offset(
    subject: Subject, torques: StaticTorques, expected: Array, miss: float, column: int, room: Array
) -> Finding:
    name = subject.robot.joint_names[column]
    return Finding(
        f"the torque of {name} in {torques.label} is off by {miss:.2f} N m throughout: "
        f"{_usual(torques.measured[:, column])} N m where it carries "
        f"{_usual(expected[:, column])}.",
        stream=torques.label,
        value=abs(miss),
        limit=float(room[column]),
        evidence=_curves(subject, torques, expected, column),
    )


def _usual(values: Array) -> str:
    return f"{float(np.median(values)):.2f}"


def _curves(
    subject: Subject, torques: StaticTorques, expected: Array, column: int
) -> dict[str, Array]:
    seconds = subject.posture.time_ns[torques.frames] / 1e9
    both = {"measured_nm": torques.measured[:, column], "expected_nm": expected[:, column]}
    return drawn_whole(seconds, both)


CHECK = Check(
    find,
    topic="dynamics",
    severity="fail",
    rests_on=("rate_hz", "robot"),
    unit="N m",
    formerly=("torque_matches_dynamics",),
)
