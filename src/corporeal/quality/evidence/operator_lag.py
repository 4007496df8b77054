"""How late a driven robot follows its operator, by content: hands, or the joints of a leader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.lag import Lag, lag
from corporeal.signal.track import Array, Track

Interface = Literal["tracked hands", "a leader arm"]
SIDES = ("left", "right")
LEADER_GOAL, LATENCY = "joint_goal", "operator_latency"
MIN_CONFIDENCE = 0.7
# Faster motion is smoothed by filters and motors, each in its own way.
BAND_HZ = (0.2, 6.0)
MOST_S = 0.5
# A hand is followed where its goal goes on; shorter stretches tell little.
_GAP_S, _SHORTEST_S = 0.05, 3.0
_STANDS_M, _STANDS_RAD = 0.02, 0.05


@dataclass(frozen=True)
class OperatorLag:
    """What was told and what was measured behind the operator; `input_s` is before both.

    `of` names the hand, or the joint of a leader, that tells it most surely. A delay that all
    messages of a device have is in none of them: no clock of the recorder can see it.
    """

    interface: Interface
    of: str
    stream: str
    told: Lag
    moved: Lag | None
    input_s: float

    @property
    def command_s(self) -> float:
        """From the operator's motion to the command."""
        return self.told.seconds + self.input_s

    @property
    def motion_s(self) -> float | None:
        """From the operator's motion to the robot's."""
        return None if self.moved is None else self.moved.seconds + self.input_s


@once_per_subject
def operator_lag(subject: Subject) -> OperatorLag:
    """The surest lag of the episode; raises NotAssessed where nobody drove, or too little moved."""
    if subject.find_track(LATENCY) is None:
        raise NotAssessed("no operator drove it, or when they did what was not kept")
    found = [*_hands(subject), *_leaders(subject)]
    if not found:
        raise NotAssessed("the operator moved too little, or the robot could not follow")
    return min(found, key=lambda each: each.told.deviation_s)


def _hands(subject: Subject) -> Iterator[OperatorLag]:
    told = subject.find_track(roles.JOINT_POSITION_TARGET)
    for side in SIDES:
        person = subject.find_track(f"operator_{side}_hand")
        goal = subject.find_track(f"{side}_hand_goal")
        if person is None or goal is None or told is None or len(goal) < 2:
            continue
        ends = np.flatnonzero(np.diff(goal.seconds) > _GAP_S)
        firsts, lasts = (0, *(ends + 1).tolist()), (*ends.tolist(), len(goal) - 1)
        for first, last in zip(firsts, lasts, strict=True):
            span = float(goal.seconds[first]), float(goal.seconds[last])
            if span[1] - span[0] >= _SHORTEST_S:
                one = _hand(subject, (person, goal, told), side, span)
                if one is not None:
                    yield one


def _hand(
    subject: Subject, tracks: tuple[Track, Track, Track], side: str, span: tuple[float, float]
) -> OperatorLag | None:
    person, goal, told = (_between(track, span) for track in tracks)
    if min(map(len, (person, goal, told))) < 30:
        return None
    moved = person.values[:, :3]
    if float(np.ptp(moved, axis=0).max()) < _STANDS_M:
        return None
    # The person faces another way than the robot: their moves are turned as the goal's are.
    wanted = np.column_stack([
        np.interp(person.seconds, goal.seconds, goal.values[:, axis]) for axis in range(3)
    ])  # fmt: skip
    own, theirs = np.diff(moved[:, :2], axis=0), np.diff(wanted[:, :2], axis=0)
    across = own[:, 0] * theirs[:, 1] - own[:, 1] * theirs[:, 0]
    turn = float(np.arctan2(across.sum(), (own * theirs).sum()))
    cos, sin = np.cos(turn), np.sin(turn)
    moved = moved @ np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    command = lag(moved, person.seconds, _hand_places(subject, told, side), told.seconds,
                  max_lag_s=MOST_S, band_hz=BAND_HZ)  # fmt: skip
    if command.confidence < MIN_CONFIDENCE:
        return None
    measured = _between(subject.track(roles.JOINT_POSITION), span)
    answer = lag(moved, person.seconds, _hand_places(subject, measured, side), measured.seconds,
                 max_lag_s=MOST_S, band_hz=BAND_HZ)  # fmt: skip
    sure = answer if answer.confidence >= MIN_CONFIDENCE else None
    of = f"the {side} hand"
    return OperatorLag("tracked hands", of, told.label, command, sure, _input_s(subject, span))


def _hand_places(subject: Subject, track: Track, side: str) -> Array:
    """Where a hand is (T, 3) from the base, as the columns of a stream have its joints."""
    posture, names = subject.posture, subject.robot.joint_names
    nearest = np.clip(np.searchsorted(posture.time_ns, track.time_ns), 0, len(posture) - 1)
    q = posture.q[nearest].copy()
    for name, column in subject.joint_columns(track).items():
        q[:, names.index(name)] = track.values[:, column]
    return subject.kinematics.end_effectors(q).position(f"{side}_hand")


def _leaders(subject: Subject) -> Iterator[OperatorLag]:
    goal = subject.find_track(LEADER_GOAL)
    told = subject.find_track(roles.JOINT_POSITION_TARGET)
    if goal is None or told is None or len(goal) < 30:
        return
    span = float(goal.seconds[0]), float(goal.seconds[-1])
    cut, measured = _between(told, span), _between(subject.track(roles.JOINT_POSITION), span)
    for column, name in enumerate(goal.names):
        if name not in cut.names or float(np.ptp(goal.values[:, column])) < _STANDS_RAD:
            continue
        wanted = goal.values[:, column], goal.seconds
        command = lag(*wanted, cut.values[:, cut.names.index(name)], cut.seconds,
                      max_lag_s=MOST_S, band_hz=BAND_HZ)  # fmt: skip
        if command.confidence < MIN_CONFIDENCE:
            continue
        answer = None
        if name in measured.names:
            answer = lag(*wanted, measured.values[:, measured.names.index(name)],
                         measured.seconds, max_lag_s=MOST_S, band_hz=BAND_HZ)  # fmt: skip
        yield OperatorLag("a leader arm", name, cut.label, command, answer, _input_s(subject, span))


def _input_s(subject: Subject, span: tuple[float, float]) -> float:
    """From the frame of the device to its arrival, beyond the quickest: the middle of it."""
    track = _between(subject.track(LATENCY), span)
    return float(np.median(track.values[:, 0])) if len(track) else 0.0


def _between(track: Track, span: tuple[float, float]) -> Track:
    kept = (track.seconds >= span[0]) & (track.seconds <= span[1])
    kept &= np.isfinite(track.values).all(axis=1)
    return replace(track, time_ns=track.time_ns[kept], values=track.values[kept])
