"""When a campaign will be done at the pace and yield of its days so far, and how sure that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
import scipy

from corporeal.operations.campaign.campaign import CampaignEpisode
from corporeal.units import SECOND_NS
from corporeal.words import counted, percent

LEAST_DAYS = 3
"""Of fewer whole days nothing is said: one good and one bad day are no pace."""
CONFIDENCE = 0.9
_MOST_DAYS = 2000


@dataclass(frozen=True)
class CampaignForecast:
    """What is left, and how many working days that takes.

    `days` are the whole days on which something was recorded, `per_day` the episodes of one of
    them that are accepted or, where nobody has judged them yet, will be by the yield so far. `low`
    and `high` bound `days_left` with 90 % confidence; without `high` the pace may be none at all.
    `why` says why nothing can be told.
    """

    left: int
    days: int
    per_day: float | None = None
    accepted_share: float | None = None
    days_left: float | None = None
    low: int | None = None
    high: int | None = None
    expected: date | None = None
    earliest: date | None = None
    latest: date | None = None
    why: str | None = None

    @property
    def words(self) -> str:
        """The forecast as a sentence."""
        if self.left == 0:
            return "All its episodes are accepted."
        if self.days_left is None or self.per_day is None or self.accepted_share is None:
            return f"Cannot tell when it will be done: {self.why}"
        until = "or much later" if self.high is None else f"to {self.high}"
        latest = "" if self.latest is None else f" to {self.latest}"
        return (
            f"{counted(self.left, 'episode')} left: at {self.per_day:.1f} a working day "
            f"({percent(self.accepted_share)} accepted) they take {max(1, round(self.days_left))} "
            f"working days, {self.low} {until}; done about {self.expected} ({self.earliest}"
            f"{latest})."
        )


def forecast(planned: int, episodes: Sequence[CampaignEpisode], now: datetime) -> CampaignForecast:
    """When a plan of so many episodes is accepted, by the whole days before today.

    Counts of days scatter at least as those of a Poisson process do, and more where the days of
    this campaign did; with few days the bounds are wide (Student's t).
    """
    counts = Counter(each.outcome for each in episodes)
    left = max(0, planned - counts["accepted"])
    today = now.astimezone().date()
    days: dict[date, Counter[str]] = {}
    for each in episodes:
        if each.recorded_ns is not None and each.outcome != "practice":
            day = datetime.fromtimestamp(each.recorded_ns / SECOND_NS).date()
            if day < today:
                days.setdefault(day, Counter())[each.outcome] += 1
    if left == 0 or len(days) < LEAST_DAYS:
        few = f"{counted(len(days), 'whole day')} of work so far; {LEAST_DAYS} are needed."
        return CampaignForecast(left, len(days), why=few if left else None)
    judged = counts["accepted"] + counts["rejected"]
    if not judged:
        return CampaignForecast(left, len(days), why="none of its episodes is judged.")
    share = counts["accepted"] / judged
    made = np.array([day["accepted"] + share * day["unchecked"] for day in days.values()])
    per_day = float(made.mean())
    if per_day <= 0:
        return CampaignForecast(left, len(days), 0.0, share, why="nothing was accepted.")
    waiting = left - share * counts["unchecked"]
    low, high = _bounds(max(waiting, 0.0), made)
    days_left = max(waiting, 0.0) / per_day
    # People rest: how many days of the calendar one day of work has taken.
    pace = ((max(days) - min(days)).days + 1) / len(days)

    def after(working: float | None) -> date | None:
        return None if working is None else today + timedelta(math.ceil(working * pace))

    return CampaignForecast(left, len(days), per_day, share, days_left, low, high,
                            after(days_left), after(low), after(high))  # fmt: skip


def _bounds(left: float, made: np.ndarray) -> tuple[int, int | None]:
    """Between how many more days `left` episodes are made; no upper one where that is unbounded."""
    mean, count = float(made.mean()), len(made)
    scatter = max(1.0, float(made.var(ddof=1)) / mean)
    t = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, count - 1))
    days = np.arange(_MOST_DAYS + 1)
    # Of a sum of days, and of the mean that so few days tell.
    spread = t * np.sqrt(scatter * mean * days * (1 + days / count))
    soonest = np.flatnonzero(mean * days + spread >= left)
    surely = np.flatnonzero(mean * days - spread >= left)
    low = int(soonest[0]) if len(soonest) else _MOST_DAYS
    return low, int(surely[0]) if len(surely) else None
