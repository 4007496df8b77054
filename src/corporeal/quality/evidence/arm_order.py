"""How much more natural the arms would look with joints exchanged or turned round."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.errors import NotAssessed
from corporeal.quality.evidence.columns import columns_of
from corporeal.quality.subject import Subject, attempt, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array

PREFIX = "arm_order/"
UNNATURAL = f"{PREFIX}unnatural"
"""The measure of how unnatural the arms are as their columns stand."""

# Postures of an episode that are looked at, the first among them: arms begin at rest.
POSTURES = 12
SIDES = (("left", 1.0), ("right", -1.0))
# One unit of each sign: m that an elbow is inside its shoulder or above it, that a hand is above
# the shoulder, behind the elbow, beyond the middle, outside the elbow; degrees of a bent wrist.
INWARD_M, ABOVE_M, BEHIND_M, ACROSS_M, OUTWARD_M, BENT_DEG = 0.05, 0.1, 0.1, 0.1, 0.1, 20.0
OUTWARD_FREE_M, BENT_FREE_DEG = 0.05, 60.0
MOST_OF_ONE = 3.0
# Beyond a limit by this is one unit, rad, and so many units count at most.
BEYOND_RAD, MOST_BEYOND = 0.1, 5.0
# What a change gains in each way: signs at rest, signs all along, limits, how far the hand turns,
# how its directions spread, how far it travels (logarithms), and how unlike the arms are at rest,
# m and rad.
WEIGHTS = np.array([1.0, 1.0, 0.5, 0.7, 0.4, 0.3, 4.0, 0.5])
# Added before a logarithm: a hand that rests says nothing.
TURN_RAD, SPREAD, TRAVEL_M = 0.3, 0.1, 0.1
# A robot whose own standing looks less natural than this has other axes than x ahead and z up.
OWN_AXES = 0.5


@dataclass(frozen=True)
class OrderChange:
    """Columns of a limb as they may have to be read: pairs exchanged, or signs turned round."""

    pairs: tuple[tuple[str, str], ...] = ()
    turned: tuple[str, ...] = ()
    limb: str = "arm"

    def __str__(self) -> str:
        if self.turned:
            one = len(self.turned) == 1
            return (
                f"{' and '.join(self.turned)} {'has its sign' if one else 'have their signs'} "
                "turned round"
            )
        pairs = [f"{one} with {other}" for one, other in self.pairs]
        if len(pairs) > 2:
            return f"the left and the right {self.limb} are exchanged"
        return f"{' and '.join(pairs)} are exchanged"


@dataclass(frozen=True, eq=False)
class Arms:
    """The two arms of a robot: columns of their joints from the shoulder out, links on the way."""

    kinematics: Kinematics
    names: tuple[tuple[str, ...], tuple[str, ...]]
    columns: tuple[list[int], list[int]]
    torso: int
    links: tuple[tuple[int, int, int], tuple[int, int, int]]
    """Numbers of shoulder, elbow and wrist of each side."""
    hands: tuple[tuple[int, Array], tuple[int, Array]]
    limits: Array
    """Lowest and highest position (J, 2) of every joint of the robot."""


@once_per_subject
def arm_order_gains(subject: Subject) -> tuple[float, dict[OrderChange, float]]:
    """How unnatural the arms are as they stand, and what every change would gain.

    People and robots keep their elbows below and outside the shoulders when they begin, their
    hands in front; both arms rest alike; a hand that is led turns less than its joints do, since
    they make up for each other. Raises NotAssessed without two arms, or for a motion that nobody
    led by commands.
    """
    if subject.recording.facts.mode == RETARGETED_MOCAP:
        raise NotAssessed("the motion was retargeted: a person may hold the arms in any way")
    if subject.find_track(*roles.COMMANDED) is None:
        raise NotAssessed("no action: nobody led the arms")
    robot, posture = subject.robot, subject.posture
    arms = model_of(robot, _arms)
    if not posture.present[arms.columns[0] + arms.columns[1]].all():
        raise NotAssessed(f"not every joint of both arms is in {posture.label}")
    if (columns_of(subject, posture.label).radian > 1.0).any():
        raise NotAssessed(f"{posture.label} is not in radians")
    if len(posture) < POSTURES:
        raise NotAssessed(f"{posture.label} has {len(posture)} samples; it needs {POSTURES}")
    chosen = np.linspace(0, len(posture) - 1, POSTURES).astype(int)
    q = np.asarray(bridge_gaps(posture.q[chosen]))
    kept, variants = variants_of(len(arms.columns[0]))
    looks = _looks(arms, q, variants)
    plain = _cost(looks[0][0], looks[1][0])
    gains = {}
    for change, left, right in changes_of(arms.names, kept, "arm"):
        gains[change] = plain - _cost(looks[0][left], looks[1][right])
    first, along, beyond = (looks[0][0] + looks[1][0])[:3]
    return float(first + along + beyond), gains


def arm_order_measures(subject: Subject) -> dict[str, float]:
    """The same for a synopsis: what is gained at all, by the words for the change."""
    judged = attempt(arm_order_gains, subject)
    if judged is None:
        return {}
    unnatural, gains = judged
    gained = {f"{PREFIX}{change}": gain for change, gain in gains.items() if gain > 0}
    return {UNNATURAL: unnatural, **gained}


def _arms(robot: Embodiment) -> Arms:
    kinematics = model_of(robot, Kinematics)
    places = {name: number for number, name in enumerate(robot.joint_names)}
    children = {joint.name: joint.child for joint in robot.joints}
    parents = {joint.name: joint.parent for joint in robot.joints}
    names, links, hands = [], [], []
    for side, _ in SIDES:
        own = tuple(name for name in robot.groups.get(f"{side}_arm", ()) if name in places)
        elbow = next((name for name in own if "elbow" in name.lower()), None)
        hand = next((at for key, at in robot.end_effectors.items() if side in key), None)
        if elbow is None or hand is None:
            raise NotAssessed(f"{robot.name} has no {side} arm with an elbow and a hand")
        names.append(own)
        numbers = [kinematics.names.index(children[name]) for name in (own[0], elbow, own[-1])]
        links.append((numbers[0], numbers[1], numbers[2]))
        hands.append(kinematics.place(hand))
    if len(names[0]) != len(names[1]):
        raise NotAssessed(
            f"the arms of {robot.name} have {len(names[0])} and {len(names[1])} joints"
        )
    bounds = [
        (
            -np.inf if joint.lower is None else joint.lower,
            np.inf if joint.upper is None else joint.upper,
        )
        for joint in robot.actuated
    ]
    arms = Arms(
        kinematics=kinematics,
        names=(names[0], names[1]),
        columns=([places[name] for name in names[0]], [places[name] for name in names[1]]),
        torso=kinematics.names.index(parents[names[0][0]]),
        links=(links[0], links[1]),
        hands=(hands[0], hands[1]),
        limits=np.array(bounds),
    )
    stands = np.tile(standing_positions(robot), (2, 1))
    looks = _looks(arms, stands, [np.eye(2 * len(names[0]))])
    if float((looks[0][0] + looks[1][0])[:2].sum()) > OWN_AXES:
        raise NotAssessed(f"{robot.name} does not stand with x ahead and z up")
    return arms


def variants_of(count: int) -> tuple[list[tuple[int, ...]], list[Array]]:
    """Ways to read the columns of both limbs at once, as matrices (2 J, 2 J): the first as it is.

    With each the joints that it is about: one is turned round, two are exchanged, none: the limbs.
    """
    kept: list[tuple[int, ...]] = []
    matrices = [np.eye(2 * count)]
    for one in range(count):
        sign = np.eye(2 * count)
        sign[one, one] = sign[count + one, count + one] = -1.0
        kept.append((one,))
        matrices.append(sign)
    for one, other in combinations(range(count), 2):
        order = np.arange(2 * count)
        order[[one, other]] = other, one
        order[[count + one, count + other]] = count + other, count + one
        kept.append((one, other))
        matrices.append(np.eye(2 * count)[order])
    kept.append(())
    matrices.append(np.roll(np.eye(2 * count), count, axis=0))
    return kept, matrices


def changes_of(
    names: tuple[tuple[str, ...], tuple[str, ...]], kept: list[tuple[int, ...]], limb: str
) -> list[tuple[OrderChange, int, int]]:
    """Every change with the variants that the left and the right limb have in it."""
    found: list[tuple[OrderChange, int, int]] = []
    left, right = names
    for number, joints in enumerate(kept, start=1):
        if not joints:
            sides = tuple(zip(left, right, strict=True))
            found.append((OrderChange(pairs=sides, limb=limb), number, number))
            continue
        own, other = tuple(left[j] for j in joints), tuple(right[j] for j in joints)
        if len(joints) == 1:
            changes = (
                OrderChange(turned=own),
                OrderChange(turned=other),
                OrderChange(turned=own + other),
            )
        else:
            one, two = (own[0], own[1]), (other[0], other[1])
            changes = (
                OrderChange(pairs=(one,)),
                OrderChange(pairs=(two,)),
                OrderChange(pairs=(one, two)),
            )
        places = ((number, 0), (0, number), (number, number))
        found += [(change, *place) for change, place in zip(changes, places, strict=True)]
    return found


def _looks(arms: Arms, q: Array, variants: list[Array]) -> tuple[Array, Array]:
    """How each arm looks in every variant: rows of signs, and of where the hand is at rest.

    A row: signs at rest, signs all along, limits, turning, spread and travel, then elbow and hand
    (6) and directions (9) of the hand at rest, the right ones mirrored.
    """
    columns = arms.columns[0] + arms.columns[1]
    count, frames = len(variants), len(q)
    tried = np.tile(q, (count, 1)).reshape(count, frames, -1)
    tried[:, :, columns] = np.einsum("vij,tj->vti", np.stack(variants), q[:, columns])
    poses = arms.kinematics.transforms(tried.reshape(count * frames, -1))
    torso = poses[arms.torso]
    beyond = np.maximum(arms.limits[:, 0] - tried, tried - arms.limits[:, 1]).clip(0).max(axis=1)

    def seen(link: int, at: Array | None = None) -> Array:
        """A place (V, T, 3) in the axes of the torso, ahead, left and up."""
        place = poses[link, :, 3].copy()
        if at is not None:
            place += np.einsum("j,jif->if", at[:, 3], poses[link, :, :3].transpose(1, 0, 2))
        turned = np.einsum("ikf,if->fk", torso[:, :3], place - torso[:, 3])
        return np.asarray(turned.reshape(count, frames, 3))

    rows = []
    for side, (_, outwards) in enumerate(SIDES):
        shoulder, elbow, wrist = (seen(link) for link in arms.links[side])
        number, at = arms.hands[side]
        hand = seen(number, at)
        turned = np.einsum("ikf,ijf->fkj", torso[:, :3], poses[number, :, :3])
        turned = (turned @ at[:, :3]).reshape(count, frames, 3, 3)
        signs = _signs(shoulder, elbow, wrist, hand, outwards)
        excess = beyond[:, arms.columns[side]].sum(axis=1) / BEYOND_RAD
        mirror = np.array([1.0, outwards, 1.0])
        rest = np.concatenate([hand[:, 0] * mirror, elbow[:, 0] * mirror], axis=1)
        facing = turned[:, 0] * np.outer(mirror, mirror)
        rows.append(
            np.column_stack(
                [signs[:, 0], np.median(signs, axis=1), np.minimum(excess, MOST_BEYOND),
                 *_travels(hand, turned), rest, facing.reshape(count, 9)]
            )
        )  # fmt: skip
    return rows[0], rows[1]


def _signs(shoulder: Array, elbow: Array, wrist: Array, hand: Array, outwards: float) -> Array:
    """What is unnatural in each posture (V, T), added up."""
    forearm, palm = wrist - elbow, hand - wrist
    length = np.linalg.norm(forearm, axis=2) * np.linalg.norm(palm, axis=2)
    cosine = (forearm * palm).sum(axis=2) / np.maximum(length, 1e-9)
    bend = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    each = (
        (shoulder - elbow)[..., 1] * outwards / INWARD_M,
        (elbow - shoulder)[..., 2] / ABOVE_M,
        (hand - shoulder)[..., 2] / ABOVE_M,
        (elbow - hand)[..., 0] / BEHIND_M,
        -hand[..., 1] * outwards / ACROSS_M,
        (bend - BENT_FREE_DEG) / BENT_DEG,
        ((hand - elbow)[..., 1] * outwards - OUTWARD_FREE_M) / OUTWARD_M,
    )
    return np.asarray(sum(np.clip(sign, 0.0, MOST_OF_ONE) for sign in each))


def _travels(hand: Array, turned: Array) -> tuple[Array, Array, Array]:
    """Logarithms (V,) of how far the hand turns in all, of its spread, and how far it travels."""
    trace = np.einsum("vtij,vtij->vt", turned[:, :-1], turned[:, 1:])
    turns = np.arccos(np.clip((trace - 1) / 2, -1.0, 1.0)).sum(axis=1)
    mean = turned.mean(axis=1)
    spread = 3 - np.einsum("vij,vij->v", mean, mean)
    travel = np.linalg.norm(np.diff(hand, axis=1), axis=2).sum(axis=1)
    return np.log(turns + TURN_RAD), np.log(spread + SPREAD), np.log(travel + TRAVEL_M)


def _cost(left: Array, right: Array) -> float:
    """How unlikely it is that arms look so."""
    apart = left[6:12] - right[6:12]
    unlike = np.linalg.norm(apart[:3]) + np.linalg.norm(apart[3:])
    trace = float((left[12:] * right[12:]).sum())
    askew = np.arccos(np.clip((trace - 1) / 2, -1.0, 1.0))
    return float(WEIGHTS[:6] @ (left + right)[:6] + WEIGHTS[6] * unlike + WEIGHTS[7] * askew)
