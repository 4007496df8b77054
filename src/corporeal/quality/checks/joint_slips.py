"""A joint's zero stays where it is from beginning to end."""

import numpy as np

from corporeal.embodiment.joints import limb_of
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.columns import columns_of
from corporeal.quality.evidence.joint_claims import claims_of
from corporeal.quality.evidence.joint_response import Response, response
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array

# What stands for the beginning and for the end of an episode.
END_SHARE, LEAST_ROWS = 0.2, 20
# How a joint misses its target by itself: this quantile of it, within either end.
WITHIN = 0.9
# How like the steps of a joint are to those of its target, from 0 to 1.
FOLLOWS = 0.6


def find(
    subject: Subject,
    *,
    min_shift: float = 0.08,
    ratio: float = 5.0,
    own_ratio: float = 3.0,
    least_joints: int = 5,
) -> Findings:
    """Yield joints whose offset from their target is another one at the end than at the beginning.

    It must change by `min_shift`, by `ratio` times what it does for the other joints, and by
    `own_ratio` times what the joint misses its target by within the first and the last fifth.
    Joints that follow their target all along count, legs and hands do not: the ground and what is
    grasped move them.

    Why: a belt or a coupling that slips leaves the reading off more and more, so that the same
    posture has another number in every episode.
    Fix: tighten the belt and zero the joint; reject what was recorded after it slipped.
    """
    answer = response(subject)
    if any(claim.kind != "flipped" for claim in claims_of(answer)):
        return
    lag = answer.lag_steps
    error = answer.positions[lag:] - answer.targets[: len(answer.targets) - lag]
    rows = max(LEAST_ROWS, round(END_SHARE * len(error)))
    robot = subject.recording.embodiment
    joints = set(robot.joint_names) if robot is not None else set()
    known = np.array([name in joints for name in answer.names], bool)
    limbs = np.array([limb_of(name, robot) in ("leg", "hand") for name in answer.names], bool)
    if 2 * rows > len(error) or np.count_nonzero(known) < least_joints:
        return
    before, after = error[:rows], error[-rows:]
    shift = np.median(after, axis=0) - np.median(before, axis=0)
    own = np.maximum(_spread(before), _spread(after))
    size, others = np.abs(shift), np.abs(shift[known])
    usual = float(np.median(others))
    high = float(np.quantile(others, 0.8))
    least = min_shift * columns_of(subject, answer.state.label).radian[answer.state_columns]
    slipped = known & ~limbs & _answers(answer)
    slipped &= (size > least) & (size > ratio * usual) & (size > 2.5 * high)
    slipped &= size > own_ratio * own
    for column in np.flatnonzero(slipped).tolist():
        yield _finding(answer, column, error[:, column], float(shift[column]), min_shift)


def _spread(error: Array) -> Array:
    """How far each column (D,) is off its own median."""
    return np.asarray(np.quantile(np.abs(error - np.median(error, axis=0)), WITHIN, axis=0))


def _answers(answer: Response) -> Flags:
    """Columns (D,) that go where their target goes within a fifth of a second."""
    lag, width = answer.lag_steps, max(1, round(0.2 / answer.step_s))
    went = answer.positions[lag + width :] - answer.positions[lag:-width]
    told = (answer.targets[width:] - answer.targets[:-width])[: len(went)]
    size = np.sqrt((went**2).sum(axis=0) * (told**2).sum(axis=0))
    return np.asarray((went * told).sum(axis=0) > FOLLOWS * size)


def _finding(answer: Response, column: int, error: Array, shift: float, limit: float) -> Finding:
    state, number = answer.state, int(answer.state_columns[column])
    middle = float(np.median(error[: max(1, len(error) // 5)])) + shift / 2
    beyond = (error - middle) * np.sign(shift) > 0
    # From here on it is beyond the middle more often than not.
    lead = np.cumsum(np.where(beyond, -1, 1))
    time_s = float(answer.time_s[answer.lag_steps + int(np.argmax(lead))])
    first = min(int(np.searchsorted(state.seconds, time_s)), len(state) - 1)
    return Finding(
        f"{answer.names[column]} of {state.label} is {shift:+.3f} farther off its target in "
        f"{answer.action.label} at the end than at the beginning, from about {time_s:.1f} s on: "
        "its reading slipped",
        stream=state.label,
        frames=((first, len(state)),),
        value=abs(shift),
        limit=limit,
        evidence=drawn(state, first, len(state), [number]),
    )


CHECK = Check(find, topic="joints", severity="quarantine", unit="rad")
