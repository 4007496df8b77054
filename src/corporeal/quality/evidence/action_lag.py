"""How long after a command the robot is where it was told to be, joint by joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.evidence.lag import Lag, lag
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.signal.grid import bridge_gaps

# Slow motion only: fast parts of a command are filtered by the servo, each in its own way.
BAND_HZ = (0.2, 3.0)
MAX_LAG_S = 0.8
MIN_CONFIDENCE = 0.6
# Of a joint that moves less than this share of the most mobile one nothing is asked.
_MOVES = 0.02
# Those that move most tell most, and so many are enough.
FEWEST, MOST = 2, 14
PREFIX = "action_lag_s/"


@dataclass(frozen=True, eq=False)
class Response:
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
def response(subject: Subject) -> Response:
    """The lags of the joints that follow their commands clearly; raises NotAssessed when few do."""
    state, action = subject.state, subject.action
    pairs = _columns(state.names, action.names)
    if min(len(state), len(action)) < 30:
        raise NotAssessed("state or action has fewer than 30 samples")
    if not pairs:
        raise NotAssessed(f"no column of {action.label} is one of {state.label}")
    told, done = bridge_gaps(action.values), bridge_gaps(state.values)
    reach = np.array([min(np.ptp(told[:, a]), np.ptp(done[:, s])) for s, a in pairs])
    least = max(_MOVES * float(reach.max(initial=0.0)), 1e-9)
    found: dict[str, Lag] = {}
    for number in sorted(np.argsort(-reach, kind="stable")[:MOST].tolist()):
        s, a = pairs[number]
        if reach[number] <= least:
            continue
        one = lag(
            told[:, a],
            action.seconds,
            done[:, s],
            state.seconds,
            max_lag_s=MAX_LAG_S,
            band_hz=BAND_HZ,
        )
        if one.confidence >= MIN_CONFIDENCE:
            found[state.names[s]] = one
    if len(found) < min(FEWEST, len(pairs)) or not found:
        raise NotAssessed(f"too few joints of {state.label} follow {action.label} clearly")
    return Response(state.label, action.label, max(state.period_s, action.period_s), found)


def action_lag(subject: Subject) -> Lag:
    """One lag for the whole robot: that of its middle joint, with the confidence of that joint."""
    found = response(subject)
    lags = list(found.by_joint.values())
    return min(lags, key=lambda each: abs(each.seconds - found.typical_s))


def action_lag_measures(subject: Subject) -> dict[str, float]:
    """The lags of the joints as measures of a synopsis; empty where they cannot be told."""
    try:
        found = response(subject)
    except NotAssessed:
        return {}
    measures = {PREFIX + name: each.seconds for name, each in found.by_joint.items()}
    return measures | {"action_period_s": found.period_s}


def _columns(state: tuple[str, ...], action: tuple[str, ...]) -> list[tuple[int, int]]:
    """Columns of the same name, or of the same place where there are as many of both."""
    named = [(number, action.index(name)) for number, name in enumerate(state) if name in action]
    if named:
        return named
    return [(n, n) for n in range(len(state))] if len(state) == len(action) else []
