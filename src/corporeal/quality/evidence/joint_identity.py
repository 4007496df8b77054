"""Which stream has its joints exchanged, upside down or in degrees: what all witnesses say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.dynamics import gravity_torques
from corporeal.errors import NotAssessed
from corporeal.quality.evidence.joint_claims import Claim, Kind, claims_of, flip_gain, gains
from corporeal.quality.evidence.joint_response import (
    Response,
    motion,
    rate_response,
    response,
)
from corporeal.quality.subject import Subject, attempt, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array, Track

# Postures looked at: weight changes slowly.
FRAMES = 36
# On clean recordings another order explains at most 0.45 N m more than the stated one.
MIN_GAIN_NM = 0.6
MIN_SHARE = 0.1
# Legs stand on the ground, whose push the model does not know, and the waist balances the rest.
HANGING = ("left_arm", "right_arm")
Role = Literal["state", "action", "velocity"]
# A witness supports the order as it stands if another one would cost so much more (log).
CONFIRMS = 0.5
# Weight supports the order of the positions if another one fits worse by this, N m.
CONFIRMS_NM = 0.3
# Beyond a limit by less is no evidence of anything, rad.
BEYOND = 0.02
MANY = 3
Key = tuple[str, frozenset[str]]


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
    return np.asarray(np.median(bridge_gaps(values)[near], axis=1))


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


@dataclass(frozen=True)
class Accusation:
    """One stream whose columns are wrong: `names` hold what belongs to `partners`."""

    kind: Kind
    names: tuple[str, ...]
    partners: tuple[str, ...]
    role: Role
    stream: str
    why: str
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Witnesses:
    """What there is to compare: action with state, velocity with position, torque with weight."""

    answer: Response | None
    moved: Response | None
    weighing: Weighing | None


def witnesses(subject: Subject) -> Witnesses:
    """Every comparison that the recording allows."""
    answer = attempt(response, subject) or attempt(rate_response, subject)
    return Witnesses(answer, attempt(motion, subject), attempt(weigh, subject))


@once_per_subject
def accusations(subject: Subject) -> tuple[Accusation, ...]:
    """All that is wrong with the identity of joints, computed once.

    Raises NotAssessed where no two streams can be compared.
    """
    seen = witnesses(subject)
    if seen.answer is None and seen.moved is None and seen.weighing is None:
        raise NotAssessed("no action, velocity or torque to compare the joints' positions with")
    return tuple(_accuse(subject, seen))


def _accuse(subject: Subject, seen: Witnesses) -> Iterator[Accusation]:
    answered = _named(seen.answer)
    moved = _named(seen.moved)
    for key, claim in answered.items():
        yield from _of_answer(subject, seen, claim, moved.get(key))
    for key, claim in moved.items():
        if key not in answered:
            yield from _of_motion(seen, claim)
    best = seen.weighing.best if seen.weighing is not None else None
    if best is not None and not answered and not moved:
        yield from _of_weight(subject, seen, best)


def _named(answer: Response | None) -> dict[Key, Claim]:
    """The claims of a comparison by kind and names."""
    if answer is None:
        return {}
    return {
        (claim.kind, frozenset(answer.names[column] for column in claim.columns)): claim
        for claim in claims_of(answer)
    }


def _of_answer(
    subject: Subject, seen: Witnesses, claim: Claim, moved: Claim | None
) -> Iterator[Accusation]:
    """State and action contradict each other: a third witness says which is wrong."""
    answer = seen.answer
    assert answer is not None
    names = tuple(answer.names[column] for column in claim.columns)
    role: Role | None = None
    why = f"{answer.action.label} and {answer.state.label} differ by {claim.before:.3f} as they "
    why += f"stand, by {claim.after:.3f} so"
    if claim.stream is not None:
        role = "action" if claim.stream else "state"
    elif moved is not None:
        role, why = "state", f"{why}; the velocity says the same"
    else:
        # Velocity and position may be wrong together: only weight and limits tell what is true.
        # What the joints carry shows in positions and torques, their limits in positions.
        quantity = answer.action.spec.name
        if quantity != roles.JOINT_VELOCITY_TARGET:
            role = _by_weight(seen.weighing, claim, answer)
        if quantity not in roles.OTHER_TARGETS:
            role = role or _by_limits(subject, answer, names)
        if role is None and _confirmed(seen.moved, claim, answer):
            why = f"{why}; the velocity agrees with the position"
    wanted: tuple[Role, ...] = (role,) if role else ("state", "action")
    if role is None:
        why += "; which of the two is wrong cannot be told from this episode"
    partners = tuple(answer.names[column] for column in claim.partners)
    for each in wanted:
        stream = answer.state.label if each == "state" else answer.action.label
        yield Accusation(claim.kind, names, partners, each, stream, why, claim.before, claim.after)


def _confirmed(moved: Response | None, claim: Claim, answer: Response) -> bool:
    """Whether velocities and positions agree on these joints, and would not otherwise."""
    if moved is None:
        return False
    names = {name: number for number, name in enumerate(moved.names)}
    if any(answer.names[column] not in names for column in claim.columns):
        return False
    columns = [names[answer.names[column]] for column in claim.columns]
    partners = [names[answer.names[column]] for column in claim.partners]
    if claim.kind == "flipped":
        return bool(flip_gain(moved)[columns].sum() < -CONFIRMS)
    return bool(gains(moved)[columns, partners].mean() < -CONFIRMS)


def _swap(claim: Claim, answer: Response) -> tuple[Swap, ...]:
    """The claim as changes that weight was tried on, whichever joint is named first."""
    names = [answer.names[column] for column in claim.columns]
    if claim.kind == "flipped":
        return (Swap(flips=(names[0],)),)
    first, second = names[0], names[1]
    return Swap(pairs=((first, second),)), Swap(pairs=((second, first),))


def _by_weight(weighing: Weighing | None, claim: Claim, answer: Response) -> Role | None:
    if weighing is None or claim.kind not in ("flipped", "exchanged") or len(claim.columns) > 2:
        return None
    pairs = [each for each in claims_of(answer) if each.kind == "exchanged"]
    sides = max(weighing.losses, key=lambda swap: len(swap.pairs))
    both = [swap for swap in _swap(claim, answer) if swap.pairs and swap.pairs[0] in sides.pairs]
    # Where many joints of both arms are exchanged, the arms are, and are weighed as such.
    tried = (sides,) if both and len(pairs) >= MANY else _swap(claim, answer)
    for swap in tried:
        loss = weighing.losses.get(swap)
        if loss is not None and abs(loss) > CONFIRMS_NM:
            return "action" if loss > 0 else "state"
    return None


def _by_limits(subject: Subject, answer: Response, names: tuple[str, ...]) -> Role | None:
    """The stream that is beyond the limits of these joints where the other is not."""
    robot = subject.recording.embodiment
    if robot is None:
        return None
    limits = {joint.name: (joint.lower, joint.upper) for joint in robot.actuated}
    excess = {"state": 0.0, "action": 0.0}
    for name in names:
        lower, upper = limits.get(name, (None, None))
        if lower is None or upper is None:
            continue
        column = answer.names.index(name)
        for role, values in (("state", answer.positions), ("action", answer.targets)):
            low, high = np.quantile(values[:, column], (0.02, 0.98))
            excess[role] = max(excess[role], lower - low, high - upper)
    if excess["state"] > BEYOND >= 2 * excess["action"]:
        return "state"
    if excess["action"] > BEYOND >= 2 * excess["state"]:
        return "action"
    return None


def _of_motion(seen: Witnesses, claim: Claim) -> Iterator[Accusation]:
    """Velocity and position contradict each other, and the action sides with the position."""
    moved = seen.moved
    assert moved is not None
    names = tuple(moved.names[column] for column in claim.columns)
    partners = tuple(moved.names[column] for column in claim.partners)
    why = f"{moved.state.label} and the rate of {moved.action.label} differ by "
    why += f"{claim.before:.3f} rad/s as they stand, by {claim.after:.3f} rad/s so"
    velocity_wrong, position_wrong = True, True
    if claim.stream is not None:
        velocity_wrong, position_wrong = claim.stream == 0, claim.stream == 1
    else:
        judged = _by_weight(seen.weighing, claim, moved)
        if judged is not None:
            velocity_wrong, position_wrong = judged == "action", judged == "state"
            why += "; so says the joints' weight"
    labels: list[tuple[Role, str]] = []
    if velocity_wrong:
        labels.append(("velocity", moved.state.label))
    if position_wrong:
        labels.append(("state", moved.action.label))
        if not velocity_wrong and seen.answer is not None:
            labels.append(("action", seen.answer.action.label))
    for role, stream in labels:
        yield Accusation(claim.kind, names, partners, role, stream, why, claim.before, claim.after)


def _of_weight(subject: Subject, seen: Witnesses, best: Swap) -> Iterator[Accusation]:
    """Everything agrees but the weight: all streams are wrong together."""
    weighing = seen.weighing
    assert weighing is not None
    why = "the measured torques differ from the weight that these postures carry by "
    why += f"{weighing.residual:.2f} N m in all, by {weighing.after:.2f} N m so"
    kind: Kind = "flipped" if best.flips else "exchanged"
    names = best.flips or tuple(name for pair in best.pairs for name in pair)
    partners = best.flips or tuple(name for pair in best.pairs for name in pair[::-1])
    labels: list[tuple[Role, Track]] = [("state", subject.track(roles.JOINT_POSITION))]
    if seen.answer is not None:
        labels.append(("action", seen.answer.action))
    for role, track in labels:
        yield Accusation(
            kind, names, partners, role, track.label, why, weighing.residual, weighing.after
        )
