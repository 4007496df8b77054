"""Hands open when they are told to open."""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from corporeal.embodiment.joints import is_hand
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.joint_identity import accusations
from corporeal.quality.evidence.joint_response import Response, compare, response
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.runs import Flags

# Positions of fingers and grippers differ by less than this by chance: rad, m or share.
LEAST = 0.002


def find(subject: Subject, *, min_opposition: float = 0.8, max_agreement: float = 0.3) -> Findings:
    """Yield grippers and fingers that close when they are told to open.

    The correlation of position and target must be below `max_agreement` at every delay, and that
    with the target turned round above `min_opposition`.

    Why: a policy trained on it lets go of the object when it should hold it.
    Fix: subtract the column from its range (0 becomes 1), and mend the exporter.
    """
    looked = 0
    told: set[str] = set()
    robot = subject.recording.embodiment
    for answer in _answers(subject):
        looked += 1
        for column in np.flatnonzero(_turned(answer, min_opposition, max_agreement)).tolist():
            name = answer.names[column]
            if answer.state.spec.name.endswith(roles.GRIPPER) or is_hand(name, robot):
                told.add(name)
                yield _finding(answer, column, min_opposition)
    for each in attempt(accusations, subject) or ():
        names = [n for n in each.names if is_hand(n, robot) and n not in told]
        if each.kind == "flipped" and names:
            message = f"{names[0]} of {each.stream} has its direction turned round: {each.why}"
            yield Finding(message, stream=each.stream, value=each.before, limit=each.after)
    if not looked:
        raise NotAssessed("no gripper or hand with a target")


def _answers(subject: Subject) -> Iterator[Response]:
    """Every gripper with its target, and the state with its action where that has hands."""
    for track in subject.ending_in(roles.GRIPPER).values():
        target = subject.find_track(f"{track.spec.name}_target")
        if target is not None:
            with suppress(NotAssessed):
                yield compare(track, target, max_lag_s=1.0, least=LEAST)
    answer = attempt(response, subject)
    robot = subject.recording.embodiment
    if answer is not None and any(is_hand(name, robot) for name in answer.names):
        yield answer


def _turned(answer: Response, min_opposition: float, max_agreement: float) -> Flags:
    spread, asked = answer.spread
    moving = (spread > 2 * answer.least) & (asked > 2 * answer.least)
    own, other = np.diagonal(answer.correlation), np.diagonal(answer.opposition)
    return np.asarray(moving & (other > min_opposition) & (own < max_agreement))


def _finding(answer: Response, column: int, limit: float) -> Finding:
    opposed = float(answer.opposition[column, column])
    state, name = answer.state.label, answer.names[column]
    what = state if len(answer.names) == 1 else f"{name} of {state}"
    message = (
        f"{what} moves against its target in {answer.action.label} "
        f"(correlation {-opposed:.2f}): one of the two is turned round"
    )
    return Finding(message, stream=state, value=opposed, limit=limit)


CHECK = Check(find, topic="joints", severity="fail", formerly=("gripper_direction",))
