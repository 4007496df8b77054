"""Joints stand where they are told to, without a constant offset."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.joint_claims import claims_of
from corporeal.quality.evidence.joint_response import Response, response
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array


def find(
    subject: Subject, *, min_offset: float = 0.06, ratio: float = 5.0, least_joints: int = 5
) -> Findings:
    """Yield joints whose position stays off their target by `min_offset`, all the time.

    The offset must be `ratio` times that of the other joints, and much more than what the joint
    misses its target by otherwise; a servo that yields to weight is off by less, and not always
    the same.

    Why: an encoder whose zero is lost makes a policy reach beside the object.
    Fix: find the zero again, and add the offset that the finding states.
    """
    answer = response(subject)
    claims = claims_of(answer)
    if any(claim.kind != "flipped" for claim in claims):
        return
    offset, rest = _offsets(answer)
    robot = subject.recording.embodiment
    joints = set(robot.joint_names) if robot is not None else set()
    follows = np.array([name in joints for name in answer.names]) | _follows(answer)
    taken = {column for claim in claims for column in claim.columns}
    if np.count_nonzero(follows) < least_joints:
        return
    usual = float(np.median(np.abs(offset[follows])))
    others = np.sort(np.abs(offset[follows]))
    high = float(others[int(0.8 * (len(others) - 1))])
    for column in np.flatnonzero(follows & (np.abs(offset) > min_offset)).tolist():
        size = abs(float(offset[column]))
        if column in taken or size < max(ratio * usual, 3 * rest[column], 2.5 * high):
            continue
        message = (
            f"{answer.names[column]} of {answer.state.label} is off its target in "
            f"{answer.action.label} by {offset[column]:+.3f} all the time; the other joints by "
            f"{usual:.3f}"
        )
        yield Finding(message, stream=answer.state.label, value=size, limit=min_offset)


def _offsets(answer: Response) -> tuple[Array, Array]:
    """Median of state minus delayed action (D,), and the spread that is left about it."""
    lag = answer.lag_steps
    error = answer.positions[lag:] - answer.targets[: len(answer.targets) - lag]
    offset = np.median(error, axis=0)
    left: Array = np.quantile(np.abs(error - offset), 0.75, axis=0)
    return offset, left


def _follows(answer: Response) -> Flags:
    """Columns that move as far as their target does."""
    own = np.diagonal(answer.correlation)
    return np.asarray((own > 0.95) & (answer.slope > 0.7) & (answer.slope < 1.4))


CHECK = Check(
    find,
    topic="joints",
    severity="quarantine",
    rests_on=("robot",),
    unit="rad",
    formerly=("joint_offsets",),
)
