"""How the share of refused episodes of each station, operator or task ran over time."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from corporeal.catalog.tables import EPISODE
from corporeal.operations.figures.comparison import Column
from corporeal.operations.figures.outcome import is_outcome, number_of
from corporeal.operations.figures.throughput import DAY
from corporeal.operations.scope import Scope

_MOST_NAMES = 20
_MOST_DAYS = 14


@dataclass(frozen=True)
class Moment:
    """One group in some days from `first` on."""

    name: str | None
    first: int
    judged: int
    refused: int

    @property
    def share(self) -> float:
        """Refused of those judged."""
        return self.refused / self.judged


@dataclass(frozen=True)
class History:
    """All moments; `days` is how many each covers, `firsts` when each column begins."""

    names: list[str | None]
    firsts: list[int]
    days: int
    moments: list[Moment]


def refusal_history(connection: Connection, scope: Scope, column: Column) -> History:
    """The refused shares of the groups with most episodes, by day, week or four weeks."""
    day = DAY.label("day")
    rows = connection.execute(
        select(
            EPISODE.c[column], day,
            func.count() - number_of(is_outcome("not judged")),
            number_of(is_outcome("accepted")),
        )
        .where(scope.where, EPISODE.c.recorded_ns.is_not(None))
        .group_by(EPISODE.c[column], day)
    ).all()  # fmt: skip
    judged = [(name, int(at), int(n), int(n) - int(good)) for name, at, n, good in rows if n]
    if not judged:
        return History([], [], 1, [])
    first, last = min(row[1] for row in judged), max(row[1] for row in judged)
    days = _width(last - first + 1)
    start = first if days == 1 else (first - 4) // 7 * 7 + 4
    sums: dict[tuple[str | None, int], list[int]] = {}
    totals: dict[str | None, int] = {}
    for name, at, count, refused in judged:
        cell = sums.setdefault((name, start + (at - start) // days * days), [0, 0])
        cell[0] += count
        cell[1] += refused
        totals[name] = totals.get(name, 0) + count
    kept = sorted(totals, key=lambda name: -totals[name])[:_MOST_NAMES]
    names = sorted(kept, key=lambda name: (name is None, name or ""))
    return History(
        names=names,
        firsts=list(range(start, last + 1, days)),
        days=days,
        moments=[
            Moment(name, at, count, refused)
            for (name, at), (count, refused) in sums.items()
            if name in totals and name in kept
        ],
    )


def _width(span: int) -> int:
    if span <= _MOST_DAYS:
        return 1
    return 7 if span <= 7 * 18 else 28 * -(-span // (28 * 18))
