"""The batch is like the batches before it: what is charted stays within its limits."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import MAX_EVIDENCE, Check, Finding, Findings
from corporeal.signal.track import Array

CHARTED = {
    "duration_s": "duration in s",
    "path_length": "length of the path",
    "peak_speed": "peak speed",
    "peak_force": "peak force in N",
    "idle_share": "share of stillness",
    "action_lag_s": "lag behind the action in s",
}
# Spread below this share of the middle is too small to be known from so few.
_LEAST_SPREAD = 0.02


def find(
    batch: Batch, *, max_sigma: float = 4.0, min_earlier: int = 20, min_episodes: int = 5
) -> Findings:
    """Yield measures whose mean over the batch left the control limits of earlier batches.

    The limits are `max_sigma` standard errors about the earlier median, the spread taken from the
    median absolute deviation (a Shewhart chart, robust), and at least one spread wide.

    Every episode of the task in this batch is named: what changed may be in each of them.

    Why: a rig wears and people tire slowly; no single episode shows it.
    Fix: find out what changed: operator, calibration, gripper, network.
    """
    if not batch.earlier:
        raise NotAssessed("no earlier batch to compare with")
    judged = False
    known = {id(each) for each in batch.earlier}
    present = tuple(each for each in batch.episodes if id(each) not in known)
    for task in dict.fromkeys(each.task for each in present):
        own = tuple(each.index for each in present if each.task == task)
        for measure, words in CHARTED.items():
            before = _values(batch.earlier, task, measure)
            now = _values(present, task, measure)
            if len(before) < min_earlier or len(now) < min_episodes:
                continue
            judged = True
            yield from _judge(task, own, words, before, now, max_sigma)
    if not judged:
        raise NotAssessed(
            f"no task has {min_earlier} earlier episodes and {min_episodes} of this batch"
        )


def _values(episodes: tuple[Synopsis, ...], task: str | None, measure: str) -> Array:
    return np.array(
        [
            each.measures[measure]
            for each in episodes
            if each.task == task and measure in each.measures
        ]
    )


def _judge(
    task: str | None,
    episodes: tuple[int, ...],
    words: str,
    before: Array,
    now: Array,
    max_sigma: float,
) -> Findings:
    middle = float(np.median(before))
    spread = 1.4826 * float(np.median(np.abs(before - middle)))
    spread = max(spread, _LEAST_SPREAD * abs(middle), 1e-9)
    error = spread * np.sqrt(1 / len(now) + np.pi / 2 / len(before))
    limit = max(max_sigma * error, spread)
    moved = float(now.mean()) - middle
    if abs(moved) > limit:
        yield Finding(
            f"{words} of {task or 'all tasks'} went from {middle:.3g} to {now.mean():.3g} "
            f"({abs(moved) / error:.1f} standard errors)",
            episodes=episodes,
            value=float(now.mean()),
            limit=middle + float(np.copysign(limit, moved)),
            evidence={"earlier": before[-MAX_EVIDENCE:], "now": now[-MAX_EVIDENCE:]},
        )


CHECK = Check(
    find, topic="sets", severity="quarantine", scope="batch", formerly=("drift_against_earlier",)
)
