"""The robot follows its commands as quickly as in the other episodes."""

from collections.abc import Mapping

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.action_lag import ACTION_LAG_PREFIX
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array
from corporeal.words import counted


def find(
    batch: Batch,
    *,
    max_change_s: float = 0.03,
    max_change: float = 0.6,
    min_others: int = 3,
    min_joints: int = 2,
) -> Findings:
    """Yield each episode in which the lag between action and state is not the usual one.

    Each joint is held against itself in the other episodes; the middle joint may be off by
    `max_change_s`, by `max_change` frames, and by four times what is usual between episodes. Where
    too few episodes of the task move the same joints, twice as much is allowed.

    Why: an action shifted by a few frames still looks like a servo's own lag; only that the same
    robot answers differently gives it away.
    Fix: shift the actions of this episode by the difference; find out why it was recorded so.
    """
    known = [each for each in batch.episodes if len(_lags(each.measures)) >= min_joints]
    if len(known) <= min_others:
        lags = counted(len(known), "episode")
        raise NotAssessed(f"the lag is known of {lags}; {min_others + 1} are needed")
    names = sorted(set().union(*(_lags(each.measures) for each in known)))
    table = np.array([[_lags(each.measures).get(n, np.nan) for n in names] for each in known])
    tasks = [each.task for each in known]
    change, loose = _changes(table, tasks, min_others, min_joints)
    period = max(each.measures.get("action_period_s", 0.0) for each in known)
    sure = np.abs(change[np.isfinite(change) & ~loose])
    usual = 1.4826 * float(np.median(sure)) if len(sure) else 0.0
    limit = max(max_change_s, max_change * period, 4 * usual)
    for each, own, far in zip(known, change.tolist(), loose.tolist(), strict=True):
        allowed = 2 * limit if far else limit
        if abs(own) > allowed:
            message = (
                f"the state follows the action {1e3 * abs(own):.0f} ms"
                f" {'later' if own > 0 else 'earlier'} in episode {each.id} than in the others"
            )
            yield Finding(message, value=own, limit=allowed, episodes=(each.index,))


def _changes(
    table: Array, tasks: list[str | None], min_others: int, min_joints: int
) -> tuple[Array, Flags]:
    """How far each episode's middle joint is from its usual lag; NaN where too little is known.

    And whether the comparison is a loose one: with other tasks, or with other joints.
    """
    change = np.full(len(table), np.nan)
    loose = np.zeros(len(table), bool)
    for row, task in enumerate(tasks):
        peers = np.array([each == task for each in tasks])
        peers[row] = False
        loose[row] = peers.sum() < min_others
        if loose[row]:
            peers = np.arange(len(table)) != row
        others, own = table[peers], table[row]
        there = np.isfinite(others).sum(axis=0) >= min_others
        if (there & np.isfinite(own)).sum() >= min_joints:
            both = there & np.isfinite(own)
            change[row] = float(np.median(own[both] - np.nanmedian(others[:, both], axis=0)))
        else:
            loose[row] = True
            change[row] = float(np.nanmedian(own) - np.nanmedian(others))
    return change, loose


def _lags(measures: Mapping[str, float]) -> dict[str, float]:
    return {
        name.removeprefix(ACTION_LAG_PREFIX): value
        for name, value in measures.items()
        if name.startswith(ACTION_LAG_PREFIX) and np.isfinite(value)
    }


CHECK = Check(
    find, topic="lag", severity="quarantine", unit="s", scope="batch", formerly=("lag_is_usual",)
)
