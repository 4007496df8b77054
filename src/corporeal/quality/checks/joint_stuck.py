"""Joints move when they are told to."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.embodiment import Joint
from corporeal.embodiment.joints import is_hand, limb_of
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.columns import columns_of
from corporeal.quality.evidence.held_columns import hold_of, longest_hold
from corporeal.quality.evidence.joint_response import Response, response
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array

# A run of repeats is no chance below this probability, going by the rest of the column.
IMPROBABLE = 1e-12
# Repeats come in runs where a column often rests: then their share says nothing.
MOSTLY_MOVES = 0.3
# And the target must have moved by this, in its own unit.
MIN_TOLD = 0.1
# A hand that died stands so many times longer than it ever rested, while its target goes through
# this share of all its travel.
LONGER, MOST_TOLD = 4.0, 0.5
# A joint without power is watched over so long; it then goes less than this share of the way.
WINDOW_S, LEFT_BEHIND = 1.0, 0.1
# A joint this near to its limit may not be able to follow, rad.
AT_LIMIT = 0.02


def find(
    subject: Subject,
    *,
    min_s: float = 0.3,
    min_asked: float = 0.03,
    ratio: float = 4.0,
    exact: float = 1e-9,
    min_left_behind: float = 0.1,
) -> Findings:
    """Yield joints whose position repeats itself for `min_s` while the joint must have moved.

    That it must have moved is said by the target, which leaves it by `min_asked` and by `ratio`
    times its usual error, or by the joint's own velocity. A finger may be held by what it grasps,
    so columns that are no joint of the robot need a jump at the end as well, or a whole episode.
    A column that never repeats itself elsewhere and jumps when it thaws is frozen in any unit; so
    is a hand that repeats itself longer than it ever rested, through most of its target's travel.
    A column that is held for some rows all along must stand for twice that longer.
    A joint that only trembles in place while its target goes `min_left_behind` away, as no other
    time in the episode, has lost power: that asks for a human, since something may have held it.

    Why: a frozen encoder teaches a policy that its commands have no effect.
    Fix: reject the frames or the episode; restart the joint's driver.
    """
    answer = response(subject)
    robot = subject.recording.embodiment
    joints = set(robot.joint_names) if robot is not None else set()
    moved = _travel(subject, answer)
    values = bridge_gaps(answer.state.values)[:, answer.state_columns]
    targets = _shifted(answer)
    least = max(4, round(min_s / answer.state.period_s))
    still = np.abs(np.diff(values, axis=0)) <= exact
    frozen = set()
    held = _held(subject, answer, values)
    for column, name in enumerate(answer.names):
        error = np.abs(targets[:, column] - values[:, column])
        rests = _runs(still[:, column], least + held[column])
        for first, stop in rests:
            outside = np.ones(len(error), bool)
            outside[first:stop] = False
            usual = float(np.median(error[outside])) if outside.sum() > 10 else 0.0
            asked = float(np.ptp(targets[first:stop, column]))
            own = 0.0 if moved is None else float(np.ptp(moved[first:stop, column]))
            enough = asked > min_asked and error[first:stop].max() > max(min_asked, ratio * usual)
            enough = enough or own > min_asked
            sure = enough and name in joints
            sure = sure or (enough and _certain(values[:, column], first, stop, asked, error))
            sure = sure or _unlike_itself(values[:, column], targets[:, column], first, stop)
            if not sure and is_hand(name, robot):
                sure = _died(targets[:, column], first, stop, still[:, column])
            if sure:
                frozen.add(column)
                yield _finding(answer, column, first, stop, max(asked, own), min_asked)
    scale = columns_of(subject, answer.state.label).radian[answer.state_columns]
    for column, first, stop in _left_behind(subject, answer, targets, min_left_behind * scale):
        if column not in frozen:
            asked = float(np.ptp(targets[first:stop, column]))
            lost = _finding(answer, column, first, stop, asked, min_left_behind)
            yield replace(lost, severity="quarantine")


def _held(subject: Subject, answer: Response, values: Array) -> list[int]:
    """For how many rows each column stands without being stuck: twice those that it is held for.

    The columns of hands come by one message: what holds for most of them holds for all.
    """
    longest = longest_hold(answer.state)
    holds = [hold_of(values[:, column], column, longest) for column in range(values.shape[1])]
    robot = subject.recording.embodiment
    rows = [0.0 if hold is None else hold.rows for hold in holds]
    of_hands = [hold.rows for hold, name in zip(holds, answer.names, strict=True)
                if hold is not None and is_hand(name, robot)]  # fmt: skip
    usual = float(np.median(of_hands)) if of_hands else 0.0
    return [
        round(2 * (max(own, usual) if is_hand(name, robot) else own))
        for own, name in zip(rows, answer.names, strict=True)
    ]


def _runs(still: Flags, least: int) -> list[tuple[int, int]]:
    """Half-open ranges of samples in which nothing changes, at least `least` samples long."""
    return [(first, stop + 1) for first, stop in runs(still, least=least - 1)]


def _died(targets: Array, first: int, stop: int, still: Flags) -> bool:
    """Whether a column stands far longer than it ever rested, through most of its target's way.

    Readings that tremble also tremble while a hand holds something, so this is no grasp.
    """
    whole = float(np.ptp(targets))
    throughout = stop - first >= 0.9 * len(targets)
    if throughout or whole <= 0 or float(np.ptp(targets[first:stop])) < MOST_TOLD * whole:
        return False
    others = [b - a for a, b in runs(still) if b < first or a >= stop]
    return stop - first > LONGER * (max(others, default=0) + 1)


def _left_behind(
    subject: Subject, answer: Response, targets: Array, least: Array
) -> Iterator[tuple[int, int, int]]:
    """Columns and ranges in which a joint that follows its target otherwise stands beside it.

    Legs are left out: the ground holds them. So are joints at their own limit.
    """
    robot = subject.recording.embodiment
    joints = {joint.name: joint for joint in robot.actuated} if robot is not None else {}
    values = bridge_gaps(answer.state.values)[:, answer.state_columns]
    length = max(4, round(WINDOW_S / answer.state.period_s))
    if len(values) < 4 * length:
        return
    starts = np.arange(0, len(values) - length + 1, max(1, length // 4))
    went, told = _travels(values, starts, length), _travels(targets, starts, length)
    error = np.abs(values - targets)
    lost = (told > least) & (went < LEFT_BEHIND * told)
    for column in np.flatnonzero(lost.any(axis=0)).tolist():
        name = answer.names[column]
        if name not in joints or is_hand(name, robot) or limb_of(name, robot) == "leg":
            continue
        flags = np.zeros(len(values), bool)
        for start in starts[lost[:, column]].tolist():
            flags[start : start + length] = True
        for first, stop in runs(flags):
            stop = _stays_until(values[:, column], first, stop)
            away = float(error[first:stop, column].max())
            # On its way back to its target a joint is still far from it.
            rest = np.concatenate((error[:first, column], error[stop + length :, column]))
            usual = float(np.quantile(rest, 0.98)) if len(rest) > length else np.inf
            if away > max(float(least[column]), 2 * usual) and not _at_limit(
                joints[name], values[first:stop, column]
            ):
                yield column, first, stop
                break


def _stays_until(values: Array, first: int, stop: int) -> int:
    """Where a joint that stands in first..stop leaves the place, by twice what it trembles."""
    place, size = float(np.median(values[first:stop])), float(np.ptp(values[first:stop]))
    gone = np.flatnonzero(np.abs(values[stop:] - place) > 2 * size)
    return stop + int(gone[0]) if len(gone) else len(values)


def _travels(values: Array, starts: NDArray[np.int64], length: int) -> Array:
    """How far each column goes (K, D) in windows of so many samples."""
    return np.stack([np.ptp(values[start : start + length], axis=0) for start in starts])


def _at_limit(joint: Joint, values: Array) -> bool:
    """Whether the joint stands where it cannot go any farther."""
    if joint.lower is None or joint.upper is None:
        return False
    return bool(values.min() < joint.lower + AT_LIMIT or values.max() > joint.upper - AT_LIMIT)


def _shifted(answer: Response) -> Array:
    """The action (T, D) on the state's clock, delayed by the usual lag."""
    delay_ns = round(answer.lag_steps * answer.step_s * 1e9)
    return bridge_gaps(answer.action.at(answer.state.time_ns - delay_ns)[:, answer.action_columns])


def _travel(subject: Subject, answer: Response) -> Array | None:
    """How far each joint has gone (T, D) by its own velocity; None where it has none."""
    velocity = subject.find_track(roles.JOINT_VELOCITY)
    if velocity is None or len(velocity) < 3:
        return None
    order = {name: column for column, name in enumerate(velocity.names)}
    if any(name not in order for name in answer.names):
        return None
    speed = bridge_gaps(
        velocity.at(answer.state.time_ns)[:, [order[name] for name in answer.names]]
    )
    # The sensor's own offset must not add up over a long run.
    speed = np.where(np.abs(speed) > 0.1, speed, 0.0)
    return np.asarray(np.cumsum(speed, axis=0) * answer.state.period_s)


def _certain(values: Array, first: int, stop: int, asked: float, error: Array) -> bool:
    """Whether a column that may be blocked is frozen: it jumps when it thaws, or never moves.

    At either end of its range a finger is at its stop.
    """
    if stop - first >= 0.9 * len(values):
        return asked > 0.1
    if stop >= len(values) or values[first] in (values.min(), values.max()):
        return False
    change = np.abs(np.diff(values))
    usual = float(np.quantile(change[change > 0], 0.95))
    jump = abs(values[stop] - values[stop - 1])
    return bool(jump > max(0.5 * asked, 0.5 * error[stop - 1], 1.5 * usual) and asked > 0.1)


def _unlike_itself(values: Array, targets: Array, first: int, stop: int) -> bool:
    """Whether a column that trembles or moves all the time stood while its target moved.

    The target may be in a unit of its own, such as a motor's: only that it moves is evidence. A
    finger at its stop may stand, unless its target went far away and came back meanwhile.
    """
    if first < 1 or stop >= len(values):
        return False
    told = targets[first:stop]
    asked = float(np.ptp(told))
    if asked <= max(MIN_TOLD, 0.3 * float(np.ptp(targets))):
        return False
    change = np.abs(np.diff(values))
    outside = np.concatenate((change[: first - 1], change[stop:]))
    share = (np.count_nonzero(outside == 0) + 1) / (len(outside) + 2)
    jump = abs(values[stop] - values[stop - 1])
    usual = float(np.quantile(outside, 0.95)) if len(outside) else np.inf
    chance = len(values) * share ** (stop - first - 1)
    if share > MOSTLY_MOVES or chance > IMPROBABLE or jump <= 2 * usual:
        return False
    returned = abs(told[-1] - told[0]) < 0.5 * asked
    return bool(returned or values[first] not in (values.min(), values.max()))


def _finding(
    answer: Response, column: int, first: int, stop: int, asked: float, limit: float
) -> Finding:
    state = answer.state
    number = int(answer.state_columns[column])
    return Finding(
        f"{answer.names[column]} of {state.label} stays at {state.values[first, number]:.3f} from "
        f"{state.seconds[first]:.2f} s to {state.seconds[stop - 1]:.2f} s while it was to move "
        f"by {asked:.3f}",
        stream=state.label,
        frames=((first, stop),),
        value=asked,
        limit=limit,
        evidence=drawn(state, first, stop, [number]),
    )


CHECK = Check(find, topic="joints", severity="fail", unit="rad", formerly=("joints_respond",))
