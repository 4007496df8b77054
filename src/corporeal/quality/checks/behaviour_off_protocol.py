"""Nothing happens that the protocol prohibits."""

from collections.abc import Callable, Mapping

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.protocol.protocol import Prohibition
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.motion import lowest_base, object_course, opening_range, stillness
from corporeal.quality.evidence.protocol_rules import not_failed, protocol_of
from corporeal.quality.subject import Subject
from corporeal.quality.synopsis import peak_force_n
from corporeal.schema import roles


def find(
    subject: Subject,
    *,
    max_force_n: float = 40.0,
    max_grasps: float = 1.0,
    max_walk_m: float = 0.25,
    max_pause_s: float = 5.0,
) -> Findings:
    """Yield falls, drops, collisions, repeated grasps, steps and pauses that are prohibited.

    Where the protocol states no limit, a collision is felt as more than `max_force_n` at a wrist,
    a gripper closes more than `max_grasps` times, or nothing moves for `max_pause_s`. Walking is
    to go farther than `max_walk_m`. Behaviours in words are asked of people: what they answered is
    read from `answers` in the metadata, and what nobody answered is not assessed.

    Why: what an operator does only now and then, a policy does at the worst moment.
    Fix: label the episode a failure, or record it again.
    """
    protocol = protocol_of(subject)
    not_failed(subject)
    usual = {
        "collision": max_force_n,
        "regrasp": max_grasps,
        "walking": max_walk_m,
        "pausing": max_pause_s,
    }
    reasons = []
    for rule in protocol.prohibited:
        limit = usual.get(rule.behaviour, 0.0)
        try:
            yield from _SIGNS.get(rule.behaviour, _asked)(subject, rule, limit)
        except NotAssessed as reason:
            reasons.append(f"{rule.behaviour}: {reason}")
    if len(reasons) == len(protocol.prohibited):
        raise NotAssessed("; ".join(reasons) or "the protocol prohibits nothing")
    for rule in protocol.prohibited:
        if rule.question is not None and _answer(subject, rule) is None:
            yield Finding(f"asked of people: {rule.question}", severity="note")


def _asked(subject: Subject, rule: Prohibition, _usual: float) -> Findings:
    answer = _answer(subject, rule)
    if answer is None:
        raise NotAssessed(f"asked of people: {rule.question}")
    if answer:
        yield Finding(f"{rule.behaviour}: somebody saw it")


def _answer(subject: Subject, rule: Prohibition) -> bool | None:
    answers = subject.recording.facts.other.get("answers")
    answer = answers.get(rule.question) if isinstance(answers, Mapping) else None
    return answer if isinstance(answer, bool) else None


def _fall(subject: Subject, _rule: Prohibition, _usual: float) -> Findings:
    label, lowest, down = lowest_base(subject)
    if down:
        message = f"fall: the pelvis comes down to {100 * lowest:.0f} % of its standing height"
        yield Finding(message, stream=label, frames=down, value=lowest, limit=0.5)


def _drop(subject: Subject, _rule: Prohibition, _usual: float) -> Findings:
    course = object_course(subject)
    if course.falls:
        when = float(course.seconds[course.falls[0][0]])
        message = f"drop: the object falls at {when:.2f} s"
        yield Finding(message, stream=course.label, frames=course.falls)


def _collision(subject: Subject, rule: Prohibition, usual: float) -> Findings:
    force, limit = peak_force_n(subject), rule.limit or usual
    if force is None:
        raise NotAssessed("no wrist wrench")
    if force > limit:
        yield Finding(f"collision: a wrist feels {force:.0f} N", value=force, limit=limit)


def _regrasp(subject: Subject, rule: Prohibition, usual: float) -> Findings:
    grippers = subject.ending_in(roles.GRIPPER)
    if not grippers:
        raise NotAssessed("no gripper")
    limit = rule.limit if rule.limit is not None else usual
    for label, track in grippers.items():
        low, high = opening_range(track)
        if high - low < 0.02:
            continue
        closed = track.values[:, 0] < low + 0.3 * (high - low)
        opened = track.values[:, 0] > low + 0.7 * (high - low)
        # A grasp is a closing after a full opening: chatter between the two does not count.
        kinds = np.where(closed, 1, np.where(opened, 2, 0))
        kinds = kinds[kinds > 0]
        times = int(((kinds[1:] == 1) & (kinds[:-1] == 2)).sum())
        if times > limit:
            message = f"regrasp: {label} closes {times} times"
            yield Finding(message, stream=label, value=float(times), limit=limit)


def _walking(subject: Subject, _rule: Prohibition, limit: float) -> Findings:
    track = subject.track(roles.BASE_POSE)
    if not len(track):
        raise NotAssessed(f"{track.label} has no samples")
    gone = np.linalg.norm(track.values[:, :2] - track.values[0, :2], axis=1)
    if float(np.nanmax(gone)) > limit:
        message = f"walking: the base goes {np.nanmax(gone):.2f} m from where it stood"
        yield Finding(message, stream=track.label, value=float(np.nanmax(gone)), limit=limit)


def _pausing(subject: Subject, rule: Prohibition, usual: float) -> Findings:
    rest, limit = stillness(subject), rule.limit or usual
    longest = max(rest.rests, key=lambda each: each.seconds, default=None)
    if longest is not None and longest.seconds > limit:
        yield Finding(
            f"pausing: nothing moves for {longest.seconds:.1f} s",
            stream=rest.label,
            frames=((longest.first, longest.stop),),
            value=longest.seconds,
            limit=limit,
        )


_SIGNS: dict[str, Callable[[Subject, Prohibition, float], Findings]] = {
    "fall": _fall,
    "drop": _drop,
    "collision": _collision,
    "regrasp": _regrasp,
    "walking": _walking,
    "pausing": _pausing,
}

CHECK = Check(find, topic="protocol", severity="quarantine", formerly=("protocol_prohibited",))
