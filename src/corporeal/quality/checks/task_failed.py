"""The demonstration succeeded, and what was recorded does not contradict that."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from corporeal.episode.facts import MISHAPS
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.motion import (
    HANDLED_M,
    gripper_travel,
    lowest_base,
    object_course,
)
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array


def find(subject: Subject, *, min_moved_m: float = HANDLED_M, max_goal_m: float = 0.05) -> Findings:
    """Yield a failure that the metadata states, and a success that the signals contradict.

    Contradictions: the robot lies down, the object falls, it moves less than `min_moved_m`, or it
    ends further than `max_goal_m` from a marked goal.

    Why: a failed demonstration that is labelled a success teaches the failure.
    Fix: correct the label; the episode is kept among the failures, with its reason.
    """
    outcome = subject.recording.facts.outcome
    if outcome.success is False:
        reason = outcome.failure or "no reason given"
        yield Finding(f"the demonstration failed: {reason}", severity="fail")
        return
    if outcome.success is None:
        raise NotAssessed(f"the outcome is {outcome}")
    assessed: list[str] = []
    found = list(_contradictions(subject, (min_moved_m, max_goal_m), assessed))
    if not assessed:
        raise NotAssessed("neither base pose nor object pose shows the outcome")
    for finding in found:
        yield replace(finding, message=f"it is labelled a success, but {finding.message}")


def _contradictions(subject: Subject, limits: tuple[float, float], assessed: list[str]) -> Findings:
    """What speaks against a success; `assessed` is filled with what could be looked at."""
    try:
        label, lowest, down = lowest_base(subject)
        assessed.append(label)
        if down:
            message = f"the pelvis came down to {100 * lowest:.0f} % of its standing height"
            yield Finding(message, stream=label, frames=down, value=lowest, limit=0.5)
    except NotAssessed:
        pass
    try:
        yield from _object(subject, *limits)
        assessed.append("object")
    except NotAssessed:
        pass
    for event in subject.recording.facts.other.get("events") or ():
        if isinstance(event, Mapping) and event.get("name") in MISHAPS:
            assessed.append("events")
            yield Finding(f"its own events list a {event['name']} at {event.get('time_s')} s")
            return


def _object(subject: Subject, min_moved_m: float, max_goal_m: float) -> Findings:
    course = object_course(subject)
    if course.falls:
        when = float(course.seconds[course.falls[0][0]])
        yield Finding(f"the object falls at {when:.2f} s", stream=course.label, frames=course.falls)
    elif course.moved_m < min_moved_m:
        grippers = gripper_travel(subject)
        also = " and no gripper closes" if grippers and max(grippers.values()) < 0.02 else ""
        message = f"the object never moves more than {1000 * course.moved_m:.0f} mm{also}"
        yield Finding(message, stream=course.label, value=course.moved_m, limit=min_moved_m)
    else:
        error = _from_goal_m(subject, course.position[-1])
        if error is not None and error > max_goal_m:
            yield Finding(
                f"the object ends {100 * error:.0f} cm from its goal",
                stream=course.label,
                frames=((len(course.seconds) - 1, len(course.seconds)),),
                value=error,
                limit=max_goal_m,
            )


def _from_goal_m(subject: Subject, place: Array) -> float | None:
    """How far the object is from where the metadata marks its goal; None without a mark."""
    metadata = subject.recording.facts.other
    varied = metadata.get("variation")
    goal = metadata.get("goal")
    if goal is None and isinstance(varied, Mapping) and varied.get("mark"):
        goal = varied.get("goal")
    if not isinstance(goal, list | tuple) or len(goal) < 2:
        return None
    return float(np.linalg.norm(place[:2] - np.asarray(goal[:2], np.float64)))


CHECK = Check(find, topic="records", severity="fail", unit="m", formerly=("outcome_agrees",))
