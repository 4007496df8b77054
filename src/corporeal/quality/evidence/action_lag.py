"""How late joints follow their commands, by content."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.subject import Subject, attempt, once_per_subject
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.lag import Lag, lag_behind_command

MIN_CONFIDENCE = 0.6
# Of a joint that moves less than this share of the most mobile one nothing is asked.
_MOVES = 0.02
# Those that move most tell most, and so many are enough.
FEWEST_JOINTS, MOST_JOINTS = 2, 14
ACTION_LAG_PREFIX = "action_lag_s/"


@dataclass(frozen=True, eq=False)
class ActionLags:
    """The lag of the state behind the action: of each joint that tells, and of all together."""

    state: str
    action: str
    period_s: float
    by_joint: dict[str, Lag]

    @property
    def lags_s(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The lags of the joints in seconds."""
        return np.array([each.seconds for each in self.by_joint.values()])

    @property
    def typical_s(self) -> float:
        """The lag of the middle joint."""
        return float(np.median(self.lags_s))

    @property
    def quickest_s(self) -> float:
        """The lag of the joint that only a quarter of the joints beat: hands are slow."""
        return float(np.quantile(self.lags_s, 0.25))


@once_per_subject
def action_lags(subject: Subject) -> ActionLags:
    """The lags of the joints that follow their commands clearly; raises NotAssessed when few do."""
    action, state = subject.command_and_answer
    pairs = _columns(state.names, action.names)
    if min(len(state), len(action)) < 30:
        raise NotAssessed("state or action has fewer than 30 samples")
    if not pairs:
        raise NotAssessed(f"no column of {action.label} is one of {state.label}")
    told, done = bridge_gaps(action.values), bridge_gaps(state.values)
    reach = np.array([min(np.ptp(told[:, a]), np.ptp(done[:, s])) for s, a in pairs])
    least = max(_MOVES * float(reach.max(initial=0.0)), 1e-9)
    found: dict[str, Lag] = {}
    for number in sorted(np.argsort(-reach, kind="stable")[:MOST_JOINTS].tolist()):
        s, a = pairs[number]
        if reach[number] <= least:
            continue
        one = lag_behind_command(told[:, a], action.seconds, done[:, s], state.seconds)
        if one.confidence >= MIN_CONFIDENCE:
            found[state.names[s]] = one
    if len(found) < min(FEWEST_JOINTS, len(pairs)) or not found:
        raise NotAssessed(f"too few joints of {state.label} follow {action.label} clearly")
    return ActionLags(state.label, action.label, max(state.period_s, action.period_s), found)


def action_lag_measures(subject: Subject) -> dict[str, float]:
    """The lags of the joints and of the middle one, for a synopsis; empty where unclear."""
    lags = attempt(action_lags, subject)
    if lags is None:
        return {}
    middle = min(lags.by_joint.values(), key=lambda each: abs(each.seconds - lags.typical_s))
    by_joint = {ACTION_LAG_PREFIX + name: each.seconds for name, each in lags.by_joint.items()}
    return {"action_lag_s": middle.seconds, **by_joint, "action_period_s": lags.period_s}


def _columns(state: tuple[str, ...], action: tuple[str, ...]) -> list[tuple[int, int]]:
    """Columns of the same name, or of the same place where there are as many of both."""
    named = [(number, action.index(name)) for number, name in enumerate(state) if name in action]
    if named:
        return named
    return [(n, n) for n in range(len(state))] if len(state) == len(action) else []
