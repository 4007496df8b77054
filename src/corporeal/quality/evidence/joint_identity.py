"""Which stream has its joints exchanged, upside down or in degrees: what all witnesses say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.evidence.gravity_evidence import Swap, Weighing, weigh
from corporeal.quality.evidence.joint_claims import Claim, Kind, claims, flip_gain, gains
from corporeal.quality.evidence.joint_evidence import Response, motion, response
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.track import Track

Role = Literal["state", "action", "velocity"]

# A witness supports the order as it stands if another one would cost so much more (log).
CONFIRMS = 0.5
# Weight supports the order of the positions if another one fits worse by this, N m.
CONFIRMS_NM = 0.3
# Beyond a limit by less is no evidence of anything, rad.
BEYOND = 0.02
MANY = 3


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
    found: list[object] = []
    for make in (response, motion, weigh):
        try:
            found.append(make(subject))
        except NotAssessed:
            found.append(None)
    answer, moved, weighing = found
    return Witnesses(answer, moved, weighing)  # type: ignore[arg-type]


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


Key = tuple[str, frozenset[str]]


def _named(answer: Response | None) -> dict[Key, Claim]:
    """The claims of a comparison by kind and names."""
    if answer is None:
        return {}
    return {
        (claim.kind, frozenset(answer.names[column] for column in claim.columns)): claim
        for claim in claims(answer)
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
        role = _by_weight(seen.weighing, claim, answer) or _by_limits(subject, answer, names)
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
    pairs = [each for each in claims(answer) if each.kind == "exchanged"]
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
